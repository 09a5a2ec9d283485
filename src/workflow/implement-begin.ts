import { AgentosError } from '../core/errors.ts';
import type { Durable } from './durable.ts';
import type { ImplementDependencies } from './implement.ts';

interface Begun {
  /** The hash of the LLD that it was for. */
  lld: string;
  base: string;
  /** How many steps there were before it: two that begin at the same commit are still two. */
  number: number;
}

/** Steps that cost nothing: as long as there are no others, a new commit of the user's is a better base. */
const FREE: ReadonlySet<string> = new Set(['begin', 'baseline']);

/**
 * The commit that the implementation begins at. It moves with the user's own until the first paid step is stored, so that
 * a set-up that failed can be fixed by a commit; from then on it stays, because all that was paid for was made for it.
 */
export async function beginImplementation(deps: ImplementDependencies, durable: Durable): Promise<string> {
  const { id, lldHash: lld, journal } = deps;
  const store = async (begun: Begun): Promise<string> =>
    (await durable({ name: 'begin', inputs: begun }, () => Promise.resolve(begun))).value.base;
  const last = journal.last('begin') as Begun | undefined;
  const steps = journal.steps();
  const isPaid = steps
    .slice(steps.findLastIndex(({ name }) => name === 'begin') + 1)
    .some(({ name }) => !FREE.has(name));
  if (last?.lld === lld && isPaid) return store(last);
  const base = await deps.baseCommit();
  await deps.requireTests(base);
  const errors = (await deps.outdated(base)).filter((finding) => finding.severity === 'error');
  if (errors.length > 0) {
    const findings = errors.map(({ rule, line, message }) => `${rule} (line ${line}): ${message}`);
    throw new AgentosError({ code: 'lld-outdated', id, findings });
  }
  return store(last?.lld === lld && last.base === base ? last : { lld, base, number: steps.length });
}
