import { z } from 'zod';
import type { Paths } from '../core/paths.ts';
import type { SpanContext } from '../core/traceparent.ts';
import { readJson, runIds } from './run-history.ts';
import type { RunOptions } from './run-plan.ts';

/** Further back nobody looks for what an item began with. */
const RUNS_BACK = 20;

const recordSchema = z.object({
  trace: z.object({ traceId: z.string(), spanId: z.string() }).nullish(),
  items: z.array(z.object({ id: z.string() })),
});

/** Of the run that this one goes on with: the one that was named, or the last that had one of the items in hand. */
export async function followedTrace(paths: Paths, { resumes, plan }: RunOptions): Promise<SpanContext | null> {
  const ids = new Set<string>(plan.items.filter((item) => item.state === 'resumed').map((item) => item.id));
  const runs = resumes !== null ? [resumes] : ids.size === 0 ? [] : (await runIds(paths)).slice(0, RUNS_BACK);
  for (const run of runs) {
    const record = recordSchema.safeParse(await readJson(paths.run(run).record));
    if (!record.success) continue;
    const { trace, items } = record.data;
    if (resumes !== null || items.some(({ id }) => ids.has(id))) return trace ?? null;
  }
  return null;
}
