import { codeOf, testsOf } from '../support/model-with-tools.ts';
import { review, script } from '../support/models.ts';
import type { Answer } from '../support/vendor/index.ts';
import type { Script } from '../support/vendor/options.ts';
import type { VendorFault } from './scenario.ts';

type Call = Parameters<Script>[0];

/** Which step of which item a call is made for; `round` counts the calls of one step of the built-in agent. */
export interface Asked {
  workflow: 'lld' | 'issue' | 'implement';
  id: string;
  step: string;
  round: number;
}

const WORKFLOWS = { LLD: 'lld', issue: 'issue', code: 'implement' } as const;

/** Read from the prompt alone: what is counted does not depend on what the program under test says. */
export function askedBy(call: Pick<Call, 'text' | 'toolResults'>): Asked {
  const { text } = call;
  const [, of = '', at = '1'] =
    /^(?:Write the|The) tests for issue ([\w-]+), "[\s\S]*^Phase: (?:tests|code), call (\d+)\.$/m.exec(text) ?? [];
  const phase = /^Phase: (tests|code), call/m.exec(text)?.[1];
  if (phase !== undefined)
    return { workflow: 'implement', id: of, step: `${phase}-${at}`, round: call.toolResults.length };
  const reviewed = /^Review the (LLD|issue|code) for (?:issue|the brief) ([\w-]+), ".*". This is review round (\d+)/m;
  const [, what, id = '', round = '1'] = reviewed.exec(text) ?? [];
  if (what !== undefined) {
    return { workflow: WORKFLOWS[what as keyof typeof WORKFLOWS], id, step: `review-${round}`, round: 0 };
  }
  const [, kind, name = ''] = /^Write the (LLD|issue) for (?:issue|the brief) ([\w-]+), "/m.exec(text) ?? [];
  if (kind !== undefined)
    return { workflow: WORKFLOWS[kind as keyof typeof WORKFLOWS], id: name, step: 'draft', round: 0 };
  // A revision is asked for with the documents alone: a design has its number in the title, a brief its name.
  // The role, which comes first, has a title as an example.
  const design = [...text.matchAll(/^# (\d+) - Feature/gm)].at(-1)?.[1];
  const brief = /^(brief-\d+):/m.exec(text)?.[1];
  return { workflow: brief === undefined ? 'lld' : 'issue', id: brief ?? design ?? '?', step: 'revise-1', round: 0 };
}

export function keyOf({ workflow, id, step, round }: Asked): string {
  return `${workflow}-${id} ${step}${round === 0 ? '' : `.${round}`}`;
}

export interface ModelOptions {
  /** Ids whose first review asks for changes. */
  revised: readonly string[];
  latencyMs: number;
  /** By the number of the call, counted from 0 in the order of arrival. */
  faults: ReadonlyMap<number, VendorFault>;
  /** Every call is made by a command of ours, which writes the files that an answer names. */
  byCommand: boolean;
  onFault: (call: number, fault: VendorFault) => void;
}

/** Models that do everything right at the first try, but for the calls that are to fail. */
export function createModels({ revised, latencyMs, faults, byCommand, onFault }: ModelOptions): Script {
  const documents = script({
    review: (call) => {
      const { id, step, workflow } = askedBy(call);
      const asksForChanges = step === 'review-1' && workflow !== 'implement' && revised.includes(id);
      return review(
        asksForChanges
          ? { verdict: 'REVISE', tier2: ['**Missing bound:** Section 2.6 names no largest value.'] }
          : { verdict: 'APPROVED' },
      );
    },
  });
  const answer = (call: Call): Answer => {
    const asked = askedBy(call);
    if (!/^(?:tests|code)-/.test(asked.step)) return documents(call);
    const isTests = asked.step.startsWith('tests-');
    const path = isTests ? `test/item-${asked.id}.test.js` : `src/item-${asked.id}.js`;
    const content = isTests ? testsOf(asked.id) : codeOf(asked.id);
    if (byCommand) return { text: JSON.stringify({ files: { [path]: content } }) };
    const deeds: Answer[] = [
      { toolCalls: [{ name: 'read', input: { path: 'src/main.js' } }] },
      { toolCalls: [{ name: 'write', input: { path, content } }] },
    ];
    return deeds[asked.round] ?? { text: 'Done.' };
  };
  return (call) => {
    const good = { ...answer(call), latencyMs };
    const fault = faults.get(call.index);
    if (fault === undefined) return good;
    onFault(call.index, fault);
    // An agent that says nothing after its first call has simply finished.
    return FAULTS[fault === 'empty' && askedBy(call).round > 0 ? '500' : fault](good);
  };
}

const FAULTS: Record<VendorFault, (good: Answer) => Answer> = {
  '429': () => ({ status: 429 }),
  '429-retry-after': () => ({ status: 429, retryAfter: 1 }),
  '500': () => ({ status: 500 }),
  '529': () => ({ status: 529 }),
  reset: () => ({ hangup: true }),
  cut: (good) => ({ ...good, cutAfterChars: 40 }),
  empty: () => ({ text: '' }),
  drip: (good) => ({ ...good, chunkDelayMs: 5 }),
  page: () => ({ html: true, status: 502 }),
};
