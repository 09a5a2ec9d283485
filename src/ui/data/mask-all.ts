import { secretsIn } from '../../core/keys.ts';
import { createMask } from '../../core/mask.ts';
import type { Project } from '../../run/project.ts';

/** For all that leaves this program: keys and tokens, and whatever in our environment is called like a secret. */
export function maskAll({ env, mask }: Project): (text: string) => string {
  const others = createMask(secretsIn(env));
  return (text) => others(mask(text));
}
