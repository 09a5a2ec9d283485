import { expect, test } from 'vitest';
import { commonJs, packageOfItsOwn, twoPackages, withoutPackageJson } from '../support/languages/javascript.ts';
import { pytestInSrc } from '../support/languages/python.ts';
import { missingFor } from '../support/languages/repository.ts';
import type { LanguageSample } from '../support/languages/sample.ts';
import { shellJunit, shellTap } from '../support/languages/shell.ts';
import { nodeTypes } from '../support/languages/typescript.ts';
import { goTheWholeWay } from '../support/languages/whole-way.ts';

const SAMPLES: readonly LanguageSample[] = [
  commonJs,
  withoutPackageJson,
  twoPackages,
  packageOfItsOwn,
  nodeTypes,
  pytestInSrc,
  shellTap,
  shellJunit,
];

for (const sample of SAMPLES) {
  const missing = missingFor(sample);
  const note = missing === null ? '' : ` (skipped: ${missing} does not work here)`;
  test.skipIf(missing !== null)(
    `${sample.name}: tests that fail for another reason than the missing code are refused; the right ones lead to a branch${note}`,
    async () => expect(await goTheWholeWay(sample)).toBe(0),
    120_000,
  );
}
