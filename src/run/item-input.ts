import { fingerprintsOf } from '../core/fingerprint.ts';
import type { ItemId } from '../core/ids.ts';
import type { ItemInput } from '../worker/item-input.ts';
import type { Project } from './project.ts';
import type { ItemAccess } from './run-gateway.ts';

/** What a worker gets for one item; it never holds a key. */
export function itemInput({ paths, config }: Project, id: ItemId, access: ItemAccess | null): ItemInput {
  const { keys, endpoints: _, keyVariables: __, ...rest } = config;
  return {
    id,
    repository: paths.repository,
    base: paths.base,
    config: rest,
    token: access?.token ?? null,
    endpoints: access?.endpoints ?? {},
    fingerprints: fingerprintsOf(keys.map((key) => key.secret.reveal())),
  };
}
