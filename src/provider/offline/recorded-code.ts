import { bodyHash, readFrontMatter } from '../../governance/lld/front-matter.ts';
import { type RecordedStep, readRecordedStep } from './recorded-step.ts';
import code7 from './tour/7-code-1.md';
import review7 from './tour/7-code-review-1.md';
import firstTests7 from './tour/7-tests-1.md';
import secondTests7 from './tour/7-tests-2.md';
import code21 from './tour/21-code-1.md';
import review21 from './tour/21-code-review-1.md';
import tests21 from './tour/21-tests-1.md';

/** How a design of the tour was built. */
export interface RecordedCode {
  /** One for each round. */
  tests: RecordedStep[];
  code: RecordedStep[];
  /** The review of what all of them made together. */
  review: string;
}

interface Recording {
  tests: string[];
  code: string[];
  review: string;
}

/** By the hash of the approved LLD's body as the tour makes it: a person's own design, or an edited one, is not in here. */
const RECORDINGS: Record<string, Recording> = {
  '695d4891e37e16065ecee41956da841e9d9f59db6eed38fc474b072ee3d27228': {
    tests: [firstTests7, secondTests7],
    code: [code7],
    review: review7,
  },
  bd6702b25eb4b268dc6800544db1efc8928dd7f05b5078c9544bbbff7049f542: {
    tests: [tests21],
    code: [code21],
    review: review21,
  },
};

export function recordedCode(lld: string): RecordedCode | null {
  const recording = RECORDINGS[bodyHash(readFrontMatter(lld).body)];
  if (!recording) return null;
  const { tests, code, review } = recording;
  return { tests: tests.map(readRecordedStep), code: code.map(readRecordedStep), review };
}
