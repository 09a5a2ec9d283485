import { formatDuration } from '../core/duration.ts';
import { AgentosError } from '../core/errors.ts';
import type { VendorName } from '../core/keys.ts';

/** Why a wait that can't end in time is not begun, or not gone on with. `inMs`: until the first key is back, if known. */
export function waitRefusal(provider: VendorName, overloaded: boolean, inMs: number): AgentosError {
  if (overloaded) {
    const detail = 'almost every request fails at the provider';
    return new AgentosError({ code: 'provider-overloaded', provider, status: null, detail }, { retry: 'transient' });
  }
  const retryAfterMs = inMs > 0 ? Math.ceil(inMs) : null;
  const detail =
    retryAfterMs === null
      ? 'no key became free in time'
      : `every key has used its quota; the first is back in ${formatDuration(retryAfterMs)}`;
  return new AgentosError({ code: 'provider-quota', provider, detail, retryAfterMs, status: null }, { retry: 'quota' });
}
