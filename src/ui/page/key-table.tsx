import type { RunState } from '../../core/run-state.ts';
import type { Answers } from '../api.ts';
import { clock, count, short, shortKey } from './format.ts';

type KnownKey = Answers['money']['keys'][number];

const TONES: Record<string, string> = { available: 'good', cooling: 'wait', dead: 'bad' };

/** Keys by their ids, which say nothing of the secret: their state, what was learned of them, and what a run did with them. */
export function KeyTable({ keys, run }: { keys: readonly KnownKey[]; run: RunState | null }) {
  const learned = ({ limits }: KnownKey): string => {
    const rate = (value: number | null, unit: string): string[] =>
      value === null ? [] : [`${short(Math.round(value))} ${unit}`];
    return [
      ...rate(limits.requestsPerMinute, 'req/min'),
      ...rate(limits.tokensPerMinute, 'tok/min'),
      ...rate(limits.concurrency, 'at once'),
    ].join(', ');
  };
  return (
    <div class="table-room" tabIndex={0} role="region" aria-label="Keys">
      <table class="keys">
        <thead>
          <tr>
            <th scope="col">Key</th>
            <th scope="col">State</th>
            <th scope="col">Learned limits</th>
            {run !== null && (
              <>
                <th scope="col" class="right">
                  Requests
                </th>
                <th scope="col" class="right">
                  Refused
                </th>
              </>
            )}
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => {
            const used = run?.timeline?.keys.get(key.id);
            const state = run?.keys.get(key.id)?.isRejected ? 'dead' : key.state;
            return (
              <tr key={`${key.vendor} ${key.id}`}>
                <td>
                  <b title={key.id}>{shortKey(key.id)}</b>
                </td>
                <td>
                  <span class={`status tone-${TONES[state] ?? 'plain'}`}>
                    <i class="dot" aria-hidden="true" />
                    {state}
                    {key.until !== null && ` until ${clock(Date.parse(key.until))}`}
                  </span>
                  {key.reason !== null && <span class="muted"> {key.reason}</span>}
                </td>
                <td>{learned(key) || <span class="muted">{key.seenAt === null ? 'not used yet' : 'none'}</span>}</td>
                {run !== null && (
                  <>
                    <td class="right">{count(used?.requests.reduce((sum, [, many]) => sum + many, 0) ?? 0)}</td>
                    <td class="right">{count(used?.cooling.length ?? 0)}</td>
                  </>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
