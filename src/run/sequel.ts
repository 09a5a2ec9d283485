import { readFileSync } from 'node:fs';
import type { CoordinatedItem, ItemEnd } from '../coordinator/coordinator.ts';
import { withoutCycles } from '../core/dependency-cycles.ts';
import type { ItemStatus } from '../core/events.ts';
import { designFacts } from '../documents/lld/design-facts.ts';
import { coordinatedItem, isOpen, type StagedItem, type StageOptions, stageAfter, stagedItem } from './stages.ts';

export interface SequelOptions extends StageOptions {
  staged: (key: string) => StagedItem;
  /** An item begins a stage. */
  onStage: (item: StagedItem) => void;
  /** Items whose designs say that they build on each other, in the order in which they run. */
  onCycle: (ids: readonly string[]) => void;
}

export interface Sequel {
  /** What can begin at once, each item with its first stage. */
  first(): CoordinatedItem[];
  /** What follows the end of one stage of an item: its next stage, and others that waited for it. */
  next(end: ItemEnd): CoordinatedItem[];
  /** Items whose next stage waited for another item to the last. */
  neverStarted(): { item: StagedItem; end: Omit<ItemEnd, 'id'> }[];
}

/** How the reason of an item begins that was held back to the end of its run. */
export const DEPENDS_ON = 'not started: it depends on';

interface Held {
  item: StagedItem;
  exclusive: readonly string[];
  after: readonly string[];
}

/**
 * The way of an item from one stage to the next. What it builds on is known only when its design is approved, and may
 * itself be on its way to that stage: then it is held back until that has ended.
 */
export function createSequel(options: SequelOptions): Sequel {
  const { pipeline, plan, staged, onStage, onCycle } = options;
  const open = plan.items.filter(isOpen);
  let held: Held[] = [];
  /** Items that are still on their way through the stages, or ended before the last in a way that leads nowhere. */
  const underWay = new Set<string>(open.map(({ id }) => id));
  const ended = new Map<string, ItemStatus>();

  const release = (): CoordinatedItem[] => {
    const isFree = ({ after }: Held): boolean => !after.some((id) => underWay.has(id));
    const free = held.filter(isFree);
    held = held.filter((entry) => !isFree(entry));
    return free.map((entry) => {
      onStage(entry.item);
      return coordinatedItem(entry.item, entry, options);
    });
  };
  const hold = (entry: Held): void => {
    held.push(entry);
    const { after, cycles } = withoutCycles(held.map(({ item, after: others }) => ({ id: item.id, after: others })));
    for (const one of held) one.after = after.get(one.item.id) ?? [];
    for (const cycle of cycles) onCycle(cycle);
  };

  return {
    first() {
      const waiting = heldFromTheStart(open, pipeline.stages[0].workflow);
      for (const { id, workflow, exclusive, after } of open) {
        if (waiting.has(id)) hold({ item: stagedItem(workflow, id), exclusive, after });
      }
      return open
        .filter(({ id }) => !waiting.has(id))
        .map((item) => coordinatedItem(stagedItem(item.workflow, item.id), item, options));
    },
    next(end) {
      const { id, workflow } = staged(end.id);
      const following = stageAfter(pipeline, workflow);
      if (following !== undefined && end.status === 'succeeded') {
        hold({ item: stagedItem(following.workflow, id), ...factsOf(options, id) });
        return release();
      }
      ended.set(id, end.status);
      // What builds on an item that ended in any other way stays held back to the end.
      if (following === undefined && LEADS_ON.has(end.status)) underWay.delete(id);
      return release();
    },
    neverStarted: () =>
      held.map(({ item, after }) => {
        const on = after.find((id) => underWay.has(id)) ?? '';
        const reason = `${DEPENDS_ON} ${on}, which ended as ${ended.get(on) ?? 'cancelled'}`;
        return {
          item,
          end: { status: 'cancelled', attempts: 0, durationMs: 0, reason, error: null, outputs: [] },
        };
      }),
  };
}

/** Ends of the last stage after which others may build on the item. */
const LEADS_ON: ReadonlySet<ItemStatus> = new Set<ItemStatus>(['succeeded', 'skipped']);

/** Those past the first stage that build on one in it, and those that build on them. */
function heldFromTheStart(open: StageOptions['plan']['items'], firstStage: string): Set<string> {
  const early = new Set<string>(open.filter(({ workflow }) => workflow === firstStage).map(({ id }) => id));
  const later = open.filter(({ id }) => !early.has(id));
  const held = new Set<string>();
  const isHeld = (id: string): boolean => early.has(id) || held.has(id);
  for (let before = -1; before < held.size; ) {
    before = held.size;
    for (const { id, after } of later) if (after.some((other) => other !== id && isHeld(other))) held.add(id);
  }
  return held;
}

/** What can't be read now is for the stage itself to refuse. */
function factsOf({ project }: StageOptions, id: StagedItem['id']): Pick<Held, 'exclusive' | 'after'> {
  try {
    const { files, after } = designFacts(readFileSync(project.paths.lld(id), 'utf8'));
    return { exclusive: files, after };
  } catch {
    return { exclusive: [], after: [] };
  }
}
