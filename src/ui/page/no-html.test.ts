import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const SINKS =
  /innerHTML|outerHTML|dangerouslySetInnerHTML|insertAdjacentHTML|document\.write|srcdoc|createContextualFragment|\beval\(|new Function/;

test('no page makes elements from text: what models wrote is never HTML', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.test.ts'));
  expect(files.length).toBeGreaterThan(15);
  const found = files.filter((name) => SINKS.test(readFileSync(join(import.meta.dirname, name), 'utf8')));
  expect(found).toEqual([]);
});
