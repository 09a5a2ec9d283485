import { completeReply, estimateTokens } from '../../test/support/vendor/answer.ts';
import { anthropic } from '../../test/support/vendor/anthropic.ts';
import type { Dialect } from '../../test/support/vendor/dialect.ts';
import { google } from '../../test/support/vendor/google.ts';
import { createKeyRing } from '../../test/support/vendor/keys.ts';
import { QuotaLedger } from '../../test/support/vendor/limits.ts';
import { openaiChat } from '../../test/support/vendor/openai-chat.ts';
import { createOverload } from '../../test/support/vendor/overload.ts';
import { seededRandom } from '../../test/support/vendor/random.ts';
import { createVirtualClock } from '../../test/support/virtual-clock.ts';
import { callEach, OVERLOAD_SHARE, type Way } from './gateway-run.ts';
import { type Score, type ScoredCall, score } from './gateway-score.ts';
import type { Situation } from './gateway-situation.ts';
import { type Exchange, MODELS, usageOf, type Wire } from './gateway-wire.ts';

const DIALECTS: Record<Situation['wire'], Dialect> = { anthropic, google, openai: openaiChat };
/** One way over the network. */
const TRANSIT_MS: [number, number] = [15, 60];

/** The same vendor rules and the same callers without sockets, in virtual time: exact, and over in a moment. */
export async function simulate(way: Way, situation: Situation, seed: number): Promise<Score> {
  const clock = createVirtualClock();
  const startMs = clock.now();
  const elapsedMs = (): number => clock.now() - startMs;
  const random = seededRandom(seed);
  const between = ([low, high]: [number, number]): number => low + random() * (high - low);
  const names = situation.keys.map((_, index) => `key-${index + 1}`);
  const ring = createKeyRing(situation.keys.map((key, index) => ({ ...key, key: names[index] ?? '' })));
  const quota = new QuotaLedger({ seed, ...situation.limits, groups: situation.groups }, elapsedMs);
  const overloaded = createOverload({
    probability: OVERLOAD_SHARE,
    seed,
    ...(situation.spells === undefined ? {} : { spells: situation.spells }),
  });
  const dialect = DIALECTS[situation.wire];
  const model = MODELS[situation.wire];
  const calls: ScoredCall[] = [];
  let deadCalls = 0;

  const headerTime = () => ({
    nowMs: clock.dateMs() + (situation.limits?.skewMs ?? 0),
    scale: (ms: number) => ms,
    fractions: false,
  });

  async function answer(key: string, workflow: string, text: string): Promise<Exchange> {
    const group = ring.groupOf(key);
    const call: ScoredCall = { workflow, atMs: elapsedMs(), finishedAtMs: null, status: null, usage: null };
    calls.push(call);
    const fault = (fault: { status?: number }, status: number): Exchange => {
      call.status = status;
      const whole = { ...fault, status, model };
      const headers = {
        ...dialect.identity(group, calls.length),
        ...dialect.quotaHeaders(quota.view(group, model), headerTime()),
        ...dialect.faultHeaders(whole),
      };
      return { status, headers, body: situation.wordless ? null : dialect.fault(whole), usage: null };
    };
    const dead = ring.refusal(key, dialect, elapsedMs());
    if (dead !== null) {
      deadCalls += 1;
      return fault(dead, dead.status ?? 401);
    }
    if (overloaded(elapsedMs())) return fault(dialect.overloaded, dialect.overloaded.status);
    const messages = [{ role: 'user', content: text }];
    const input = estimateTokens('', JSON.stringify(messages));
    const lease = quota.admit(group, model, input);
    if (!('settle' in lease)) {
      const denial = dialect.denied(lease, headerTime());
      return fault(denial, denial.status);
    }
    await clock.sleep(between(situation.latencyMs));
    const output = Math.round(between(situation.outputTokens));
    const reply = completeReply(
      { text: 'x'.repeat(4 * output) },
      { serial: calls.length, model, inputTokens: input, nowMs: clock.now() },
    );
    const headers = {
      ...dialect.identity(group, calls.length),
      ...dialect.quotaHeaders(quota.view(group, model), headerTime()),
    };
    const usage = { input: reply.usage.input, output: reply.usage.output };
    lease.settle(usage);
    Object.assign(call, { status: 200, usage, finishedAtMs: elapsedMs() });
    return { status: 200, headers, body: null, usage: usageOf(situation.wire, dialect.whole(reply)) };
  }

  const wire: Wire = {
    model,
    async send(key, workflow, text) {
      await clock.sleep(between(TRANSIT_MS));
      const exchange = await answer(key, workflow, text);
      await clock.sleep(between(TRANSIT_MS));
      return exchange;
    },
    close: () => undefined,
  };
  const stop = new AbortController();
  const call = way.open({ situation, keys: names, clock, wire, random, signal: stop.signal });
  const { done, failures, workflows } = callEach(call, situation, random, clock, stop);
  await clock.runUntil(done);
  return { ...score({ calls, deadCalls }, situation, workflows, failures()), way: way.name };
}
