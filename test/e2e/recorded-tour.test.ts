import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { ItemEvent } from '../../src/core/events.ts';
import type { ItemId } from '../../src/core/ids.ts';
import { formatCoverage } from '../../src/documents/coverage.ts';
import { openFindings } from '../../src/documents/ledger.ts';
import { checkLld } from '../../src/documents/lld/checks.ts';
import { readReview } from '../../src/documents/review/reader.ts';
import { LLD_FORM } from '../../src/documents/revise/reply.ts';
import { createOfflineProvider } from '../../src/offline/tour.ts';
import { createPrompts } from '../../src/prompts/prompts.ts';
import { untagged } from '../../src/prompts/tags.ts';
import { createDirectorySource } from '../../src/source/directory.ts';
import { createDocumentQuestions, reviewDocument } from '../../src/workflow/document-review.ts';
import { lldSubject } from '../../src/workflow/lld.ts';
import type { ReviewOutcome } from '../../src/workflow/review.ts';

const REPOSITORY = fileURLToPath(new URL('../../examples/demo/repository', import.meta.url));

/** The review loop of the workflow over the recordings, on the sample repository's own files. */
async function tourOf(
  id: string,
): Promise<{ outcome: ReviewOutcome; steps: string[]; events: ItemEvent[]; versions: string[] }> {
  const issue = await createDirectorySource(join(REPOSITORY, 'issues')).read(id as ItemId);
  const entries = await readdir(REPOSITORY, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(REPOSITORY.length + 1));
  const tree = {
    kindOf: (path: string) =>
      paths.includes(path)
        ? ('file' as const)
        : paths.some((other) => other.startsWith(`${path}/`))
          ? ('directory' as const)
          : null,
  };
  const provider = createOfflineProvider();
  const steps: string[] = [];
  const events: ItemEvent[] = [];
  const versions: string[] = [];
  const signal = new AbortController().signal;
  const prompts = createPrompts(new Map());
  const inFolder = (): never => expect.unreachable('the tour is no program');
  const item: Parameters<typeof createDocumentQuestions>[1] = {
    prompts,
    ask: async ({ step, role, system, repeating, parts: others, unusable }) => {
      const parts = [...repeating, ...others].map((part) => ({ text: part }));
      const { text } = await provider.complete({ role, system, parts, stepId: `${step}#1`, signal, inFolder });
      expect(unusable(text)).toBeNull();
      const draft = parts.map((part) => untagged('draft', part.text)).find((found) => found !== null) ?? '';
      if (role === 'reviewer') expect(readReview(text).coverage).toEqual(countsOf(draft));
      steps.push(step);
      return text;
    },
  };
  const questions = createDocumentQuestions(lldSubject(issue, '', prompts), item, 'a commit');
  const outcome = await reviewDocument(await questions.draft(), {
    form: LLD_FORM,
    questions,
    check: (draft) => {
      const { findings, coverage } = checkLld(draft, { issueId: id, tree });
      return { findings, coverage: formatCoverage(coverage) };
    },
    lineage: { add: async (kind) => void versions.push(kind) },
    emit: (event) => void events.push(event),
    maxRounds: 3,
  });
  return { outcome, steps, events, versions };
}

function countsOf(draft: string): { covered: number; total: number; percent: number } {
  const { covered, total, percent } = checkLld(draft).coverage;
  return { covered, total, percent };
}

test.each(['7', '12', '21'])('every recorded draft and review of issue %s is clean', async (id) => {
  const { events } = await tourOf(id);
  for (const event of events) {
    if (event.type === 'draft-checked') {
      expect(event.errors).toEqual([]);
      expect(event.warnings.filter((warning) => !warning.startsWith('open-question'))).toEqual([]);
    }
    if (event.type === 'review-read') expect(event.problems).toEqual([]);
  }
  expect(events.map(({ type }) => type)).toContain('review-read');
});

test('issue 7 is revised once and approved in the second round', async () => {
  const { outcome, steps, events, versions } = await tourOf('7');
  expect(outcome).toMatchObject({ verdict: 'APPROVED', rounds: 2 });
  expect(steps).toEqual(['draft', 'review-1', 'revise-1', 'review-2']);
  expect(versions).toEqual(['draft', 'verdict', 'draft', 'verdict']);
  expect(events.filter(({ type }) => type === 'reply-rejected')).toEqual([]);
  expect(openFindings(outcome.ledger)).toEqual([]);
  expect(outcome.text).toContain('more than 40 characters');
  expect(outcome.text).toContain('**RESOLVED: The first one in the order of `teas`.');
});

test('issue 12 ends in DISCUSS with what the reviewer asks', async () => {
  const { outcome, steps } = await tourOf('12');
  expect(outcome).toMatchObject({ verdict: 'DISCUSS', rounds: 1 });
  expect(outcome.verdict === 'DISCUSS' && outcome.reason).toContain('Who keeps the favourites between two runs?');
  expect(steps).toEqual(['draft', 'review-1']);
});

test('issue 21 is approved in the first round', async () => {
  const { outcome, steps } = await tourOf('21');
  expect(outcome).toMatchObject({ verdict: 'APPROVED', rounds: 1 });
  expect(steps).toEqual(['draft', 'review-1']);
});
