import { createHash } from 'node:crypto';
import { AgentosError } from '../core/errors.ts';
import type { StepKey } from './port.ts';

const hashLength = 32;

/**
 * `<name>#<hash of the inputs>`. The order of keys makes no difference. Anything that JSON would silently drop or change is
 * refused, because two different inputs must never share a record.
 */
export function stepId(key: StepKey): string {
  if (key.name === '') throw new AgentosError({ code: 'internal', detail: 'a step needs a name' });
  const canonical = canonicalJson(key.inputs, { step: key.name, path: 'inputs', ancestors: [] });
  const hash = createHash('sha256').update(canonical).digest('hex');
  return `${key.name}#${hash.slice(0, hashLength)}`;
}

interface Place {
  step: string;
  path: string;
  ancestors: readonly object[];
}

function canonicalJson(value: unknown, place: Place): string {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return JSON.stringify(value);
    case 'number':
      return Number.isFinite(value) ? JSON.stringify(value) : refuse(String(value), place);
    case 'object':
      return value === null ? 'null' : canonicalObject(value, place);
    case 'undefined':
    case 'bigint':
    case 'symbol':
    case 'function':
      return refuse(typeof value, place);
  }
}

function canonicalObject(value: object, place: Place): string {
  if (place.ancestors.includes(value)) return refuse('a cycle', place);
  const ancestors = [...place.ancestors, value];
  if (Array.isArray(value)) {
    // Array.from visits the holes of a sparse array; map would skip them.
    const items = Array.from(value, (item: unknown, index) =>
      canonicalJson(item, { ...place, path: `${place.path}[${index}]`, ancestors }),
    );
    return `[${items.join(',')}]`;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return refuse(`a ${value.constructor.name}`, place);
  if (Object.getOwnPropertySymbols(value).length > 0) return refuse('a symbol as key', place);
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]: [string, unknown]) => {
      const text = canonicalJson(member, { ...place, path: `${place.path}.${name}`, ancestors });
      return `${JSON.stringify(name)}:${text}`;
    });
  return `{${members.join(',')}}`;
}

function refuse(what: string, place: Place): never {
  throw new AgentosError({
    code: 'internal',
    detail: `step ${place.step}: ${place.path} is not a JSON value but ${what}`,
  });
}

/** A result as it is stored. */
export function encode(value: unknown, name: string): string {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new AgentosError(
      { code: 'internal', detail: `step ${name}: its result is not JSON: ${why}` },
      { cause: error },
    );
  }
}
