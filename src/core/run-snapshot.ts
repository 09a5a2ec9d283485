import type { ItemState, KeyState, PartState, RunState, Wait } from './run-state.ts';
import type { ItemTimeline, KeyTimeline, Timeline } from './timeline.ts';

/** The state of a run as JSON. A page makes a state from it, and folds the events that follow. */
export interface RunSnapshot extends Omit<RunState, 'items' | 'places' | 'keys' | 'exhausted' | 'timeline'> {
  items: ItemSnapshot[];
  /** Ids. */
  places: (string | null)[];
  keys: [string, KeyState][];
  exhausted: [string, Wait][];
  timeline:
    | (Omit<Timeline, 'items' | 'keys'> & { items: [string, ItemTimeline][]; keys: [string, KeyTimeline][] })
    | null;
}

/** Without its steps: the timeline has them. */
type ItemSnapshot = Omit<ItemState, 'steps' | 'parts'> & { parts: [string, PartState][] };

export function snapshotOf(state: RunState): RunSnapshot {
  const { timeline } = state;
  return {
    ...state,
    items: [...state.items.values()].map(itemSnapshot),
    places: state.places.map((item) => item?.id ?? null),
    keys: [...state.keys],
    exhausted: [...state.exhausted],
    timeline: timeline && { ...timeline, items: [...timeline.items], keys: [...timeline.keys] },
  };
}

function itemSnapshot(item: ItemState): ItemSnapshot {
  const { steps: _, parts, ...rest } = item;
  return { ...rest, parts: [...parts] };
}

export function stateOfSnapshot(snapshot: RunSnapshot): RunState {
  const { timeline } = snapshot;
  const items = new Map(
    snapshot.items.map((item): [string, ItemState] => [item.id, { ...item, steps: [], parts: new Map(item.parts) }]),
  );
  return {
    ...snapshot,
    items,
    places: snapshot.places.map((id) => (id === null ? null : (items.get(id) ?? null))),
    keys: new Map(snapshot.keys),
    exhausted: new Map(snapshot.exhausted),
    timeline: timeline && { ...timeline, items: new Map(timeline.items), keys: new Map(timeline.keys) },
  };
}
