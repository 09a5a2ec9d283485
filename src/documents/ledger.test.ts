import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  dispute,
  disputesIn,
  emptyLedger,
  formatLedger,
  type Ledger,
  openFindings,
  recordReview,
  stuck,
  withdraw,
} from './ledger.ts';
import type { Review } from './review/reader.ts';
import { readReview } from './review/reader.ts';
import { formatReviewLog } from './revise/review-log.ts';

function seed(number: number): Review {
  return readReview(readFileSync(new URL(`../../test/fixtures/review/seed-00${number}.md`, import.meta.url), 'utf8'));
}

function review(verdict: string, body: string): Review {
  return readReview(`# LLD Review: 42\n\n${body}\n\n## Verdict\n- [x] **${verdict}**\n`);
}

function states(ledger: Ledger): string[] {
  return ledger.findings.map(({ id, state }) => `${id} ${state}`);
}

const TWO =
  '## Tier 1\n### Cost\n- [ ] **Unbounded Retry Loop:** The worker retries a 429 without a limit.\n\n## Tier 2\n### Quality\n- [ ] **Flaky Test Scenario:** Scenario 130 asserts wall-clock time in CI.\n\n## Tier 3\n- **Exit codes:** Define them.';
const first = recordReview(emptyLedger, review('REVISE', TWO), { round: 1, draftChanged: true });

describe('recording a review', () => {
  test('gives every finding an id in order of appearance', () => {
    expect(states(first)).toEqual(['F1 open', 'F2 open', 'F3 open']);
    expect(openFindings(first).map(({ id }) => id)).toEqual(['F1', 'F2']);
    expect(first.findings[0]).toMatchObject({ tier: 1, area: 'Cost', raisedInRound: 1 });
  });

  test('a revision keeps what it repeats, in other words too, and settles the rest', () => {
    const body =
      '## Tier 1\n### Cost\n- [ ] **Retry loop still unbounded:** A worker that meets a 429 retries for ever; there is no limit.';
    const second = recordReview(first, review('REVISE', body), { round: 2, draftChanged: true });
    expect(states(second)).toEqual(['F1 open', 'F2 fixed', 'F3 fixed']);
    expect(second.findings[0]?.text).toContain('for ever');
    expect(second.findings[0]?.raisedInRound).toBe(1);
  });

  test('a new finding in the same area gets a new id', () => {
    const body = '## Tier 1\n### Cost\n- [ ] **Model choice:** Opus is used to rename files.';
    const second = recordReview(first, review('REVISE', body), { round: 2, draftChanged: true });
    expect(states(second)).toEqual(['F1 fixed', 'F2 fixed', 'F3 fixed', 'F4 open']);
    expect(second.findings[3]?.raisedInRound).toBe(2);
  });

  test('a finding may be named by its id alone, and keeps its text', () => {
    const second = recordReview(first, review('REVISE', '## Tier 1\n- [ ] **F1:** still open'), {
      round: 2,
      draftChanged: true,
    });
    expect(states(second)).toEqual(['F1 open', 'F2 fixed', 'F3 fixed']);
    expect(second.findings[0]?.text).toContain('without a limit');
  });

  test('a ruling by id goes before repetition', () => {
    const body = `## Previous findings\n- F1: settled\n- F2 is still open\n\n${TWO}`;
    const second = recordReview(first, review('REVISE', body), { round: 2, draftChanged: true });
    expect(states(second).slice(0, 2)).toEqual(['F1 fixed', 'F2 open']);
  });

  test.each([
    ['F1 and F2 are resolved; F3 is withdrawn.', ['F1 fixed', 'F2 fixed', 'F3 withdrawn']],
    [
      '| Id | Status |\n|---|---|\n| F1 | not fixed |\n| F2 | withdrawn |\n| F3 | fixed |',
      ['F1 open', 'F2 withdrawn', 'F3 fixed'],
    ],
    ['Still open: F1, F2', ['F1 open', 'F2 open', 'F3 fixed']],
    ['- [x] F1 – Unbounded retry loop\n- [ ] F2 – Flaky test: remains open', ['F1 fixed', 'F2 open', 'F3 fixed']],
  ])('%j', (body, expected) => {
    const second = recordReview(first, review('REVISE', `## Status of earlier findings\n${body}`), {
      round: 2,
      draftChanged: true,
    });
    expect(states(second)).toEqual(expected);
  });

  test('an approval settles everything', () => {
    const second = recordReview(first, review('APPROVED', '## Tier 1\nNone.'), { round: 2, draftChanged: true });
    expect(states(second)).toEqual(['F1 fixed', 'F2 fixed', 'F3 fixed']);
    expect(openFindings(second)).toEqual([]);
  });

  test('what an approval lists in Tier 2 stays open in the log, in full', () => {
    const ledger = recordReview(emptyLedger, seed(4), { round: 1, draftChanged: true });
    expect(ledger.findings).toHaveLength(5);
    expect(openFindings(ledger).map(({ tier }) => tier)).toEqual([2, 2, 2]);
    expect(new Set(ledger.findings.map(({ state }) => state))).toEqual(new Set(['open']));
    const log = formatReviewLog(ledger);
    expect(log.match(/Open: approved with it, for the implementer to settle/g)).toHaveLength(3);
    expect(log).toContain('achieving atomic writes without modifying that library will be impossible.');
    expect(log.match(/Suggestion, logged/g)).toHaveLength(2);
  });

  test('DISCUSS settles nothing by silence, and a review without a verdict changes nothing', () => {
    expect(
      states(recordReview(first, review('DISCUSS', '## Tier 1\nNone.'), { round: 2, draftChanged: true })),
    ).toEqual(states(first));
    expect(recordReview(first, readReview('nothing'), { round: 2, draftChanged: true })).toBe(first);
  });

  test('a settled finding that comes back is open again under its id', () => {
    const settled = recordReview(
      first,
      review('REVISE', '## Tier 2\n### Quality\n- [ ] **Names:** `foo` says nothing.'),
      { round: 2, draftChanged: true },
    );
    const again = recordReview(settled, review('REVISE', TWO), { round: 3, draftChanged: true });
    expect(states(again)).toEqual(['F1 open', 'F2 open', 'F3 open', 'F4 fixed']);
  });

  test('plain reviews in the form of the seeds are enough for two rounds', () => {
    const one = recordReview(emptyLedger, seed(0), { round: 1, draftChanged: true });
    const two = recordReview(one, seed(1), { round: 2, draftChanged: true });
    expect(states(two).slice(0, 5)).toEqual(['F1 fixed', 'F2 fixed', 'F3 fixed', 'F4 fixed', 'F5 fixed']);
    expect(openFindings(two).map(({ area }) => area)).toEqual(['Cost', 'Architecture', 'Quality']);
  });
});

describe('rounds that go nowhere', () => {
  test('a finding open twice in a row on an unchanged draft is stuck', () => {
    expect(stuck(first)).toEqual([]);
    expect(stuck(recordReview(first, review('REVISE', TWO), { round: 2, draftChanged: false }))).toEqual(['F1', 'F2']);
    expect(stuck(recordReview(first, review('REVISE', TWO), { round: 2, draftChanged: true }))).toEqual([]);
  });

  test('a change to the draft starts the count again', () => {
    const second = recordReview(first, review('REVISE', TWO), { round: 2, draftChanged: false });
    expect(stuck(recordReview(second, review('REVISE', TWO), { round: 3, draftChanged: true }))).toEqual([]);
  });
});

describe('disputes', () => {
  test('a disputed finding holds the draft back until the reviewer lets it go', () => {
    const disputed = dispute(first, 'F1', 'the gateway bounds it');
    expect(states(disputed)[0]).toBe('F1 disputed');
    expect(openFindings(disputed).map(({ id }) => id)).toEqual(['F1', 'F2']);
    const dropped = recordReview(
      disputed,
      review('REVISE', '## Tier 2\n### Quality\n- [ ] **Flaky Test Scenario:** Scenario 130 asserts time.'),
      { round: 2, draftChanged: false },
    );
    expect(states(dropped).slice(0, 2)).toEqual(['F1 withdrawn', 'F2 open']);
    expect(dropped.findings[0]?.reason).toContain('the gateway bounds it');
    const kept = recordReview(disputed, review('REVISE', TWO), { round: 2, draftChanged: true });
    expect(states(kept)[0]).toBe('F1 open');
    expect(formatLedger(kept)).toContain('open (disputed before: the gateway bounds it)');
    const settled = recordReview(kept, review('APPROVED', '## Tier 1\nNone.'), { round: 3, draftChanged: true });
    expect(formatReviewLog(settled)).toContain('settled in round 3; the drafter disputed it: the gateway bounds it');
  });

  test.each([
    ['F1 disputed: the gateway bounds it', [{ id: 'F1', reason: 'the gateway bounds it' }]],
    ['- **F2** is disputed – out of scope.', [{ id: 'F2', reason: 'out of scope.' }]],
    ['Dispute F3: see section 8', [{ id: 'F3', reason: 'see section 8' }]],
    ['| F4 (round 1): loop | Disputed: it has a bound |', [{ id: 'F4', reason: 'it has a bound' }]],
    ['F1 is settled. Nothing is disputed.', []],
    ['F1: fixed in 2.5', []],
  ])('a drafter may write %j', (reply, expected) => {
    expect(disputesIn(`Done.\n\n${reply}\n`)).toEqual(expected);
  });

  test('a withdrawn or unknown finding stays as it is', () => {
    const withdrawn = withdraw(first, 'F2', 'out of scope');
    expect(states(withdrawn)[1]).toBe('F2 withdrawn');
    expect(states(dispute(withdrawn, 'F2', 'x'))).toEqual(states(withdrawn));
    expect(states(withdraw(first, 'F9', 'x'))).toEqual(states(first));
  });
});

describe('the same finding or another', () => {
  const only = (text: string) => review('REVISE', `## Tier 2\n### Quality\n- [ ] ${text}`);
  test.each([
    ['another requirement', 'Requirement 3 has no scenario at all.', 'Requirement 4 has no scenario at all.', 2],
    [
      'another one under the same title',
      '**Requirement Coverage:** Requirement 3 has no scenario.',
      '**Requirement Coverage:** The log files are asserted nowhere.',
      2,
    ],
    [
      'the same file in other words',
      '**Loop:** `src/pool/retry.ts` never stops after a refusal.',
      '**Unbounded retries:** a refusal makes src/pool/retry.ts try again without end.',
      1,
    ],
    [
      'another section in the same words',
      'The loop in section 2.5 has no bound at all.',
      'The loop in section 8 has no bound at all.',
      2,
    ],
    ['the same one by its other name', 'Requirement 3 has no scenario at all.', 'REQ-3 still has no scenario.', 1],
    [
      'few words, said again at length',
      'Loop unbounded in 2.5.',
      '**Loop Bounds:** As noted before, the retry loop of section 2.5 remains unbounded, without a limit on attempts.',
      1,
    ],
  ])('%s', (_, before, after, count) => {
    const ledger = recordReview(emptyLedger, only(before), { round: 1, draftChanged: true });
    expect(recordReview(ledger, only(after), { round: 2, draftChanged: true }).findings).toHaveLength(count);
  });
});

test('an approval that calls a Tier 1 finding still open does not settle it', () => {
  const ledger = recordReview(first, review('APPROVED', '## Previous Findings\n- F1: still open\n\n## Tier 1\nNone.'), {
    round: 2,
    draftChanged: true,
  });
  expect(openFindings(ledger).map(({ id }) => id)).toEqual(['F1']);
});

describe('tables', () => {
  test('the ledger has a row for each finding, in one line', () => {
    const ledger = recordReview(
      emptyLedger,
      review('REVISE', '## Tier 1\n### Cost\n- [ ] **A:** `a | b` loops\n    - **Recommendation:** stop'),
      { round: 1, draftChanged: true },
    );
    expect(formatLedger(ledger)).toBe(
      '| Id | Tier | Area | State | Raised in round | Finding |\n|----|------|------|-------|-----------------|---------|\n| F1 | 1 | Cost | open | 1 | A: `a \\| b` loops Recommendation: stop |',
    );
  });

  test('the review log says what was done about each', () => {
    const ledger = recordReview(withdraw(first, 'F2', 'out of scope'), review('APPROVED', '## Tier 1\nNone.'), {
      round: 2,
      draftChanged: true,
    });
    const rows = formatReviewLog(ledger).split('\n');
    expect(rows[0]).toBe('| Finding | Answer |');
    expect(rows[2]).toBe(
      '| F1 (round 1, Tier 1, Cost): Unbounded Retry Loop: The worker retries a 429 without a limit. | Fixed, settled in round 2 |',
    );
    expect(rows[3]).toMatch(/Withdrawn: out of scope \|$/);
    expect(formatReviewLog(emptyLedger)).toContain('No finding was raised');
  });
});

test('ids are never given twice, approval leaves no blocker open, and the ledger survives JSON', () => {
  const step = fc.record({ number: fc.nat({ max: 4 }), draftChanged: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
      let ledger = emptyLedger;
      for (const [index, { number, draftChanged }] of steps.entries()) {
        ledger = recordReview(ledger, seed(number), { round: index + 1, draftChanged });
        if (seed(number).verdict === 'APPROVED')
          expect(openFindings(ledger).every(({ tier }) => tier === 2)).toBe(true);
        expect(stuck(ledger).every((id) => openFindings(ledger).some((finding) => finding.id === id))).toBe(true);
      }
      expect(new Set(ledger.findings.map(({ id }) => id)).size).toBe(ledger.findings.length);
      expect(JSON.parse(JSON.stringify(ledger))).toEqual(ledger);
    }),
    { numRuns: 20 },
  );
});
