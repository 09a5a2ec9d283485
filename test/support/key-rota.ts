import { systemClock } from '../../src/core/clock.ts';
import { AgentosError } from '../../src/core/errors.ts';
import type { Usage } from '../../src/core/money.ts';
import { Secret } from '../../src/core/secret.ts';
import { vendorFailure } from '../../src/models/vendor-failure.ts';
import type { Ruling } from '../../src/pool/answer.ts';
import type { CredentialPool, Lease, LeaseRequest } from '../../src/pool/pool.ts';
import { quotaRefusal } from '../../src/pool/queue.ts';

export interface KeyRota extends Pick<CredentialPool, 'acquire' | 'expectedWait'> {
  /** Requests for a lease, in the order of arrival. */
  readonly requests: readonly LeaseRequest[];
  readonly queued: number;
  readonly inFlight: number;
  /** How leases ended, in that order. */
  readonly endings: readonly (Usage | null)[];
  /** Grants nothing until `release`. */
  hold(): void;
  release(): void;
}

interface Waiter {
  request: LeaseRequest;
  grant: () => void;
}

/**
 * The least that can stand behind the gateway: keys take turns, a refused key is out, a refused request goes to the next
 * key, unless it `passes` every refusal to the caller. Learning limits is the real pool's business.
 */
export function createKeyRota(
  keys: readonly string[],
  { refuse, passes = false }: { refuse?: AgentosError; passes?: boolean } = {},
): KeyRota {
  const live = keys.map((key, index) => ({ id: `key-${index + 1}`, key }));
  const requests: LeaseRequest[] = [];
  const queue: Waiter[] = [];
  const endings: (Usage | null)[] = [];
  let held = false;
  let turn = 0;
  let inFlight = 0;

  const lease = ({ vendor }: LeaseRequest): Lease => {
    const chosen = live[turn++ % live.length];
    if (chosen === undefined) throw deadKeys(vendor);
    inFlight += 1;
    let open = true;
    const end = (how: Usage | null): void => {
      if (!open) return;
      open = false;
      inFlight -= 1;
      endings.push(how);
    };
    return {
      keyId: chosen.id,
      key: new Secret(chosen.key),
      answered(answer): Ruling {
        const { status } = answer;
        if (!passes && (status === 401 || status === 403)) {
          live.splice(live.indexOf(chosen), 1);
          return live.length > 0 ? { action: 'retry' } : { action: 'fail', error: deadKeys(vendor) };
        }
        if (!passes && status === 429) return { action: 'retry' };
        const facts = { ...answer, provider: vendor, fallback: `status ${status}`, secret: chosen.key };
        return { action: 'pass', error: status < 400 ? null : vendorFailure({ ...facts, nowMs: Date.now() }) };
      },
      finished: (usage) => end(usage),
    };
  };

  return {
    requests,
    endings,
    get queued() {
      return queue.length;
    },
    get inFlight() {
      return inFlight;
    },
    hold() {
      held = true;
    },
    release() {
      held = false;
      for (const { grant } of queue.splice(0)) grant();
    },
    expectedWait: () => ({ reason: 'key', untilMs: null }),
    acquire(request) {
      requests.push(request);
      if (refuse !== undefined) return Promise.reject(refuse);
      if (!held) return Promise.resolve().then(() => lease(request));
      return new Promise((resolve, reject) => {
        const { vendor, deadlineMs, signal } = request;
        const leave = (reason: unknown): void => {
          late.stop();
          const at = queue.indexOf(waiter);
          if (at !== -1) queue.splice(at, 1);
          reject(reason);
        };
        const late = systemClock.timer(deadlineMs - systemClock.now(), () => leave(quotaRefusal(vendor, 0)));
        const grant = (): void => {
          late.stop();
          resolve(lease(request));
        };
        const waiter = { request, grant };
        queue.push(waiter);
        signal.addEventListener('abort', () => leave(signal.reason));
      });
    },
  };
}

function deadKeys(provider: string): AgentosError {
  return new AgentosError({ code: 'provider-rejected-key', provider, status: 401, detail: 'every key was refused' });
}
