import { shellWord } from '../core/shell-word.ts';
import type { ItemSummary } from '../core/summary.ts';

/** What lines to copy have to know. */
export interface Guide {
  /** Flags that every one of them repeats, to mean the same repository. */
  place: readonly string[];
  /** No model was asked: what comes next with one is nothing that this run can tell. */
  offline: boolean;
  /** What the checkout is on; null where no branch was made. */
  checkout: { name: string; canPush: boolean } | null;
}

/** More branches than this are not written out: their names are in the rows above. */
const MOST_BRANCHES = 5;
const MOST_IDS = 12;
const INDENT = ' '.repeat('Next: '.length);

/** What to do with what succeeded, by the workflow that each item came to. */
export function nextLines(items: readonly ItemSummary[], guide: Guide): string[] {
  const done = (workflow: ItemSummary['workflow']): ItemSummary[] =>
    items.filter((item) => item.status === 'succeeded' && item.workflow === workflow);
  const agentos = (command: string, ids: readonly string[]): string[] => {
    if (ids.length === 0 || guide.offline) return [];
    const which = ids.length > MOST_IDS ? ['--all'] : ids;
    return [['agentos', command, ...which, ...guide.place].join(' ')];
  };
  const steps = [
    ...agentos(
      'lld',
      done('issue').flatMap(({ outputs }) => /^issues[\\/]([\w-]+)\.md$/.exec(outputs[0] ?? '')?.[1] ?? []),
    ),
    ...agentos(
      'implement',
      done('lld').map(({ id }) => id),
    ),
    ...branchSteps(
      done('implement').flatMap(({ outputs }) => outputs[0] ?? []),
      guide,
    ),
  ];
  return steps.map((step, index) => `${index === 0 ? 'Next: ' : INDENT}${step}`);
}

function branchSteps(branches: readonly string[], { checkout, place }: Guide): string[] {
  if (checkout === null || branches.length === 0) return [];
  const repo = place[place.indexOf('--repo') + 1];
  const git = place.includes('--repo') ? `git -C ${repo}` : 'git';
  const base = shellWord(checkout.name);
  const steps = (branch: string): string[] => [`${git} diff ${base}...${branch}`, `${git} merge ${branch}`];
  const shown =
    branches.length > MOST_BRANCHES
      ? [`for each branch, in this order: ${steps('<branch>').join(', then ')}`]
      : branches.map(shellWord).flatMap(steps);
  return [...shown, ...(checkout.canPush ? [`${git} push`] : [])];
}
