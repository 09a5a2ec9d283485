import type { ItemState, KeyState, RunState, Wait } from './run-state.ts';
import type { ItemTimeline, KeyTimeline, Timeline } from './timeline.ts';

/** The state of a run as JSON: a reader folds the events that come after it into the state that it makes of this. */
export interface RunSnapshot extends Omit<RunState, 'items' | 'places' | 'keys' | 'exhausted' | 'timeline'> {
  /** Without their steps, which the timeline has. */
  items: Omit<ItemState, 'steps'>[];
  /** Ids. */
  places: (string | null)[];
  keys: [string, KeyState][];
  exhausted: [string, Wait][];
  timeline:
    | (Omit<Timeline, 'items' | 'keys'> & { items: [string, ItemTimeline][]; keys: [string, KeyTimeline][] })
    | null;
}

export function snapshotOf(state: RunState): RunSnapshot {
  const { timeline } = state;
  return {
    ...state,
    items: [...state.items.values()].map(withoutSteps),
    places: state.places.map((item) => item?.id ?? null),
    keys: [...state.keys],
    exhausted: [...state.exhausted],
    timeline: timeline && { ...timeline, items: [...timeline.items], keys: [...timeline.keys] },
  };
}

function withoutSteps(item: ItemState): Omit<ItemState, 'steps'> {
  const { steps: _, ...rest } = item;
  return rest;
}

export function stateOfSnapshot(snapshot: RunSnapshot): RunState {
  const { timeline } = snapshot;
  const items = new Map(snapshot.items.map((item) => [item.id, { ...item, steps: [] } as ItemState]));
  return {
    ...snapshot,
    items,
    places: snapshot.places.map((id) => (id === null ? null : (items.get(id) ?? null))),
    keys: new Map(snapshot.keys),
    exhausted: new Map(snapshot.exhausted),
    timeline: timeline && { ...timeline, items: new Map(timeline.items), keys: new Map(timeline.keys) },
  };
}
