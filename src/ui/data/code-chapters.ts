import { formatDuration } from '../../core/duration.ts';
import type { TestsRan } from '../../core/events.ts';
import type { GateEvidence, GateName } from '../../core/gate.ts';
import type { Call } from '../../core/timeline.ts';
import type { Git } from '../../git/git.ts';
import { readAt } from '../../git/repository.ts';
import { shownPatch } from '../../git/worktree/trees.ts';
import type { Block, Chapter, Tone } from '../api.ts';
import {
  callFacts,
  callsOfStep,
  type ItemAgentosEvent,
  ledgerChapter,
  points,
  verdictGist,
  verdictTone,
} from './chapter.ts';
import { documentBlocks, patchFiles } from './tree.ts';

export interface CodeFacts {
  /** Of the implementation, over all its runs. */
  events: readonly ItemAgentosEvent[];
  calls: readonly Call[];
  /** By round. Only an unfinished implementation has them. */
  reviews: readonly { round: number; text: string }[];
  git: Git;
  /** The path of the report on its branch. */
  report: string;
}

/** What the gates check: the tests before the code, with the code, and without it. */
type Group = 'red' | 'green' | 'reverse';
const GROUPS: Record<GateName, Group> = {
  tests: 'red',
  red: 'red',
  frozen: 'green',
  green: 'green',
  coverage: 'green',
  reverse: 'reverse',
};
const TITLES: Record<Group, string> = {
  red: 'Red: the tests before the code',
  green: 'Green: the tests with the code',
  reverse: 'Reverse: the tests with the code taken out',
};

/**
 * How a design became a branch. A resumed item repeats the events of its checkpoint, so a later chapter replaces an earlier one with
 * the same key.
 */
export async function codeChapters(facts: CodeFacts): Promise<Chapter[]> {
  const { events, calls, reviews } = facts;
  const chapters = new Map<string, Chapter>();
  const put = (chapter: Chapter): void => void chapters.set(chapter.key, { ...chapters.get(chapter.key), ...chapter });
  /** The last step that wrote something: the following gates are about it. */
  let written = '';
  for (const event of events) {
    const { at } = event;
    const plain = { tone: 'plain', at, facts: [], gist: '', blocks: [], isOpen: false } as const;
    switch (event.type) {
      case 'model-answered': {
        const step = event.step.replace(/\.\d+$/, '');
        if (event.role !== 'implementer') break;
        written = step;
        put({ ...plain, key: step, title: titleOfWriting(step), facts: callFacts(calls, callsOfStep(step)) });
        break;
      }
      case 'tests-ran':
        if (event.step === 'baseline') put({ ...plain, key: 'baseline', title: 'Baseline', ...testsGist(event) });
        else if (isGroup(event.step)) {
          const group = event.step.split('-')[0] as Group;
          put({ ...plain, ...chapterOf(chapters, group, written), ...testsGist(event) });
        }
        break;
      case 'gate-checked': {
        const chapter = { ...plain, ...chapterOf(chapters, GROUPS[event.gate], written) };
        put(withGate(chapter, event));
        break;
      }
      case 'review-read': {
        const { round, verdict, tiers, problems } = event;
        put({
          ...plain,
          key: `review-${round}`,
          title: `Code review ${round}`,
          tone: verdictTone(verdict),
          facts: callFacts(calls, callsOfStep(`review-${round}`)),
          gist: verdictGist(verdict, tiers),
          blocks: [
            ...points('Why it was asked for again', problems),
            ...documentBlocks(reviews.find((one) => one.round === round)?.text),
          ],
        });
        break;
      }
      case 'changes-undone':
        put({
          ...plain,
          key: `undone-${event.step}`,
          title: 'Changes undone',
          tone: 'bad',
          gist: `${event.why}; kept as ${event.patch}`,
          blocks: points('Files', event.paths),
        });
        break;
      case 'committed':
        put({ ...plain, ...(await committed(event, facts)) });
        break;
      default:
    }
  }
  return [...chapters.values(), ...ledgerChapter(events, 'Findings of the code reviews')];
}

type Of<Type extends ItemAgentosEvent['type']> = Extract<ItemAgentosEvent, { type: Type }>;

/** A commit with its diff, or the report as a document. */
async function committed(
  { what, branch, commit }: Of<'committed'>,
  { git, report }: CodeFacts,
): Promise<Pick<Chapter, 'key' | 'title' | 'tone' | 'facts' | 'blocks'>> {
  const chapter = { key: `committed-${what}`, tone: 'good', facts: [branch, commit.slice(0, 12)] } as const;
  if (what === 'report') {
    const [text] = await readAt(git, [{ ref: commit, path: report }]).catch(() => [null]);
    return { ...chapter, title: 'Report', blocks: documentBlocks(text) };
  }
  const files = patchFiles(await shownPatch(git, `${commit}^`, commit));
  const blocks: Block[] = files.length === 0 ? [] : [{ type: 'diff', title: '', files }];
  return { ...chapter, title: `The ${what}, as committed`, blocks };
}

/** The current chapter for these gates after the last writing step. */
function chapterOf(
  chapters: ReadonlyMap<string, Chapter>,
  group: Group,
  written: string,
): Pick<Chapter, 'key' | 'title'> & Partial<Chapter> {
  const key = written === '' ? group : `${group}-after-${written}`;
  return chapters.get(key) ?? { key, title: TITLES[group] };
}

function withGate(chapter: Chapter, gate: GateEvidence): Chapter {
  const others = chapter.blocks.filter((block) => block.type !== 'gate' || block.gate.gate !== gate.gate);
  const gates = [...others.flatMap((block) => (block.type === 'gate' ? [block.gate] : [])), gate];
  const failed = gates.find(({ passed, skipped }) => !passed && skipped === null);
  const gist = failed?.problems[0] ?? gates.flatMap(({ summary }) => summary || []).join('; ');
  const tone: Tone = failed === undefined ? 'good' : 'bad';
  return { ...chapter, tone, gist, blocks: [...others, { type: 'gate', gate }] };
}

function testsGist({ command, outcome, counts, durationMs }: TestsRan): Pick<Chapter, 'gist' | 'facts'> {
  const { passed, failed, skipped, notLoaded } = counts;
  const some = [`${passed} passed`, `${failed} failed`];
  if (skipped > 0) some.push(`${skipped} skipped`);
  if (notLoaded > 0) some.push(`${notLoaded} could not load`);
  return { gist: `${outcome}: ${some.join(', ')}`, facts: [command, formatDuration(durationMs)] };
}

function titleOfWriting(step: string): string {
  const [, what = step, number = ''] = /^(tests|code)-(\d+)$/.exec(step) ?? [];
  if (number !== '')
    return `${what === 'tests' ? 'Tests' : 'Code'} written${number === '1' ? '' : `, attempt ${number}`}`;
  const round = /^revise-(\d+)/.exec(step)?.[1];
  if (round !== undefined) return `Code revised after review ${round}`;
  return /^react-\d+$/.test(step) ? 'Changed for the pull request' : step;
}

function isGroup(step: string): boolean {
  return /^(?:red|green|reverse)(?:-|$)/.test(step);
}
