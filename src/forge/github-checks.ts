import { z } from 'zod';
import { codeOf } from '../core/errors.ts';
import type { Ask, GitHubClient } from '../host/github-client.ts';
import { type Check, EVIDENCE } from './port.ts';

export type Below = (route: string, what: string, parameters?: Record<string, unknown>) => Promise<Ask>;

const branchSchema = z.looseObject({
  protection: z
    .looseObject({ required_status_checks: z.looseObject({ contexts: z.array(z.string()).default([]) }).nullish() })
    .nullish(),
});
const ruleSchema = z.looseObject({
  parameters: z
    .looseObject({ required_status_checks: z.array(z.looseObject({ context: z.string() })).optional() })
    .nullish(),
});
const output = z.looseObject({
  title: z.string().nullish(),
  summary: z.string().nullish(),
  text: z.string().nullish(),
});
const runSchema = z.looseObject({
  name: z.string(),
  status: z.string(),
  conclusion: z.string().nullish(),
  html_url: z.string().nullish(),
  output: output.nullish(),
});
const workflowSchema = z.looseObject({ id: z.int() });
const statusSchema = z.looseObject({
  context: z.string(),
  state: z.string(),
  target_url: z.string().nullish(),
  description: z.string().nullish(),
});

/** Conclusions that hold nothing up, and those that say nothing of the code: a person stopped it, or has to start it. */
const FINE = new Set(['success', 'neutral', 'skipped']);
const UNTOLD = new Set(['cancelled', 'action_required', 'stale']);
const JOB = /\/actions\/runs\/\d+\/jobs?\/(\d+)/;

export interface GitHubChecks {
  of(commit: string, base: string): Promise<Check[]>;
  log(check: Check): Promise<string>;
}

/** What CI says of the commits of one repository. */
export function createGitHubChecks(client: GitHubClient, below: Below): GitHubChecks {
  const required = new Map<string, Promise<string[]>>();

  async function requiredFor(base: string): Promise<string[]> {
    const [branch, rules] = await Promise.all([
      below('GET /branches/{base}', `read branch ${base}`, { base }).then((ask) => client.get(ask, branchSchema)),
      below('GET /rules/branches/{base}', `read the rules of ${base}`, { base })
        .then((ask) => client.list(ask, ruleSchema))
        .catch(orNothing),
    ]);
    const byRule = rules.flatMap(
      ({ parameters }) => parameters?.required_status_checks?.map(({ context }) => context) ?? [],
    );
    return [...new Set([...(branch.protection?.required_status_checks?.contexts ?? []), ...byRule])];
  }

  /** No fine-grained token may read check runs; those of GitHub Actions are jobs, too, which it may. */
  async function runsOf(commit: string): Promise<z.infer<typeof runSchema>[]> {
    const what = `read the checks of ${commit}`;
    try {
      return await client.list(await below('GET /commits/{commit}/check-runs', what, { commit }), runSchema);
    } catch (error) {
      if (codeOf(error) !== 'host-scope-missing') throw error;
      const runs = await below('GET /actions/runs', what, { head_sha: commit }).then((ask) =>
        client.list(ask, workflowSchema),
      );
      const jobs = runs.map(({ id }) =>
        below('GET /actions/runs/{run}/jobs', what, { run: id }).then((ask) => client.list(ask, runSchema)),
      );
      return (await Promise.all(jobs)).flat();
    }
  }

  return {
    async of(commit, base) {
      const known = required.get(base) ?? requiredFor(base);
      required.set(base, known);
      const statusesAsk = await below('GET /commits/{commit}/statuses', `read the checks of ${commit}`, { commit });
      const [names, runs, statuses] = await Promise.all([
        known,
        runsOf(commit),
        client.list(statusesAsk, statusSchema),
      ]);
      const found = new Map<string, Check>();
      const add = (check: Omit<Check, 'isRequired'>): void => {
        if (check.name !== EVIDENCE) found.set(check.name, { ...check, isRequired: names.includes(check.name) });
      };
      // The newest status of a context comes first.
      for (const { context, state, target_url, description } of statuses.toReversed())
        add({
          name: context,
          state: state === 'success' ? 'passed' : state === 'pending' ? 'pending' : 'failed',
          url: target_url ?? null,
          output: description ?? '',
        });
      for (const { name, status, conclusion, html_url, output: said } of runs.toReversed())
        add({
          name,
          state: stateOf(status, conclusion ?? ''),
          url: html_url ?? null,
          output: [said?.title, said?.summary, said?.text].filter(Boolean).join('\n\n'),
        });
      const missing = names.filter((name) => name !== EVIDENCE && !found.has(name));
      return [
        ...found.values(),
        ...missing.map((name): Check => ({ name, state: 'pending', isRequired: true, url: null, output: '' })),
      ];
    },
    async log({ name, url, output: said }) {
      const [, job] = JOB.exec(url ?? '') ?? [];
      if (job === undefined) return said;
      const ask = await below('GET /actions/jobs/{job}/logs', `read the log of ${name}`, { job });
      return (await client.log(ask)) ?? said;
    },
  };
}

function stateOf(status: string, conclusion: string): Check['state'] {
  if (status !== 'completed' || UNTOLD.has(conclusion)) return 'pending';
  return FINE.has(conclusion) ? 'passed' : 'failed';
}

/** A repository without such rules, or a token that may not see them. */
function orNothing(error: unknown): [] {
  if (codeOf(error) !== 'host-not-found' && codeOf(error) !== 'host-scope-missing') throw error;
  return [];
}
