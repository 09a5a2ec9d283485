import { z } from 'zod';
import { SANDBOX_MODES } from './config.ts';
import { parseDuration } from './duration.ts';
import { REACT_KINDS } from './reaction.ts';
import { parseSource, READY } from './remote.ts';

/**
 * The one schema of `agentos.yaml`: it validates the file, and the types and the JSON Schema for editors come from it. Every object is
 * strict, so a misspelt key is an error.
 */

const durationText = z
  .string()
  .refine((text) => parseDuration(text) !== null, {
    error: 'is not a duration such as 90s, 30m or 2h (at most 24 days)',
  })
  .meta({ examples: ['90s', '30m', '2h'] });

const RUNNERS = [
  'vitest',
  'jest',
  'node',
  'mocha',
  'ava',
  'uvu',
  'jasmine',
  'qunit',
  'bun',
  'borp',
  'pytest',
  'unittest',
  'go',
  'cargo',
  'maven',
  'gradle',
  'phpunit',
  'rspec',
  'minitest',
  'test-unit',
  'dotnet',
  'junit',
  'tap',
] as const;

const modelSpec = z.string().min(1).meta({
  description: 'provider:model, e.g. anthropic:claude-sonnet-4-5, google:gemini-3.1-pro-preview, command:./my-model',
});

const variableNames = z.array(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, { error: 'is not the name of an environment variable' }),
);

const endpoint = z.url({ protocol: /^https?$/, error: 'is not a URL such as https://host/v1' });

const rateLimits = z.strictObject({
  requestsPerMinute: z.number().positive().optional(),
  tokensPerMinute: z.number().positive().optional().describe('input and output together'),
  inputTokensPerMinute: z.number().positive().optional(),
  outputTokensPerMinute: z.number().positive().optional(),
  concurrency: z.int().positive().optional().describe('requests at the same time'),
});

const price = z.strictObject({
  input: z.number().nonnegative().describe('USD per million input tokens'),
  output: z.number().nonnegative().describe('USD per million output tokens'),
  cacheRead: z.number().nonnegative().optional().describe('USD per million tokens read from the prompt cache'),
  cacheWrite: z.number().nonnegative().optional().describe('USD per million tokens written to the prompt cache'),
});

const agentSettings = z.strictObject({
  login: z
    .enum(['gateway', 'agent'])
    .optional()
    .describe(
      'gateway: with a key of yours, metered (default); agent: with its own login, one call at a time, not metered',
    ),
});

const hosts = z.array(
  z.string().regex(/^(?:\*\.)?[\w-]+(?:\.[\w-]+)*(?::\d{1,5})?$/, {
    error: 'is not a host such as registry.example.com, *.example.com or 127.0.0.1:4873',
  }),
);

const apiUrl = z.url({ protocol: /^https?$/, error: 'is not a URL such as https://host/api/v3' });

const place = z.string().refine((text) => parseSource(text) !== undefined, {
  error: 'is not directory, github:owner/name or gitlab:group/name',
});

const selection = z.strictObject({
  label: z.string().optional().describe('only issues with this label, or with all of several (default agentos)'),
  milestone: z.string().min(1).optional().describe('only issues of this milestone'),
  assignee: z.string().min(1).optional().describe('only issues of this person'),
  query: z.string().min(1).optional().describe('a search query of the service, in place of the default label'),
  limit: z.int().min(1).optional().describe('at most this many'),
});

function perVendor<T extends z.ZodType>(setting: T) {
  const optional = setting.optional();
  return z.strictObject({ anthropic: optional, google: optional, openai: optional, 'openai-compatible': optional });
}

export const configFileSchema = z.strictObject({
  models: z
    .strictObject({
      drafter: modelSpec.optional().describe('writes the LLD'),
      reviewer: modelSpec.optional().describe('reviews it; a different model is better'),
      implementer: modelSpec.optional().describe('writes tests and code'),
    })
    .optional()
    .describe(
      'Who does what: provider:model, command:…, acp:…, or claude-code, codex, gemini-cli, opencode with an optional :model.',
    ),
  agents: z
    .strictObject({
      'claude-code': agentSettings.optional(),
      codex: agentSettings.optional(),
      'gemini-cli': agentSettings.optional(),
      opencode: agentSettings.optional(),
      acp: agentSettings.optional(),
    })
    .optional()
    .describe('How the installed agents are used.'),
  bounds: z
    .strictObject({
      maxRounds: z.int().min(1).max(20).optional().describe('review rounds before a person is asked (default 3)'),
      maxRetries: z.int().min(0).max(20).optional().describe('more attempts after a temporary failure (default 3)'),
      timeout: durationText.optional().describe('per item (default 1h)'),
      globalTimeout: durationText.optional().describe('for the whole run (default: none)'),
      idleTimeout: durationText.optional().describe('without a sign of life from a model (default 5m)'),
      callTimeout: durationText.optional().describe('one model call at most (default 20m)'),
      maxQuotaWait: durationText.optional().describe('waiting for quota before the run pauses (default 1h)'),
      maxCostUsd: z.number().positive().optional().describe('USD for the whole run (default: none)'),
      maxCostPerItemUsd: z.number().positive().optional().describe('USD for one item (default 20)'),
    })
    .optional()
    .describe('Limits for time, retries, rounds and money.'),
  keys: perVendor(variableNames)
    .optional()
    .describe('Names of the environment variables that hold keys. Never the keys themselves.'),
  limits: perVendor(rateLimits)
    .optional()
    .describe('Known limits of each key or quota group; others are learned from the answers.'),
  endpoints: perVendor(endpoint).optional().describe('Base URLs, if they differ from the vendors’ own.'),
  prices: z.record(z.string(), price).optional().describe('Prices per model; they override the built-in table.'),
  context: z
    .strictObject({
      maxTokens: z
        .int()
        .min(0)
        .max(500_000)
        .optional()
        .describe('how much of the repository drafter, reviewer and implementer are shown (default 24000)'),
      exclude: z.array(z.string().min(1)).optional().describe('files or folders that are never shown to a model'),
    })
    .optional(),
  explore: z
    .union([
      z.enum(['off']),
      z.literal(false),
      z.strictObject({
        maxRounds: z.int().min(1).max(500).optional().describe('calls to the model for one answer (default 25)'),
        maxTokens: z.int().min(1).optional().describe('input and output of these calls together (default 1000000)'),
      }),
    ])
    .optional()
    .describe(
      'How much drafter and reviewer may explore the repository with tools before they answer; off: not at all.',
    ),
  tests: z
    .strictObject({
      command: z.string().min(1).optional().describe('how the tests are run (default: detected)'),
      runner: z
        .enum(RUNNERS)
        .optional()
        .describe('whose report is read (default: detected); junit and tap for any other command'),
      report: z
        .string()
        .min(1)
        .optional()
        .describe('the JUnit XML or TAP file that the command writes (TAP: default standard output)'),
      coverage: z.string().min(1).optional().describe('the lcov file that the command writes'),
      files: z.array(z.string().min(1)).optional().describe('patterns of test files besides the usual names'),
      timeout: durationText.optional().describe('one run of the tests (default 10m)'),
    })
    .optional()
    .describe('How tests are run and read.'),
  implement: z
    .strictObject({
      policy: z
        .enum(['strict', 'verify', 'off'])
        .optional()
        .describe('strict: every gate holds (default); verify: gates are reported, only green must hold; off: none'),
      setup: z
        .union([z.string().min(1), z.literal(false)])
        .optional()
        .describe('prepares a fresh worktree, e.g. npm ci (default: detected); false: nothing'),
      setupTimeout: durationText.optional().describe('the set-up at most (default 10m)'),
      copy: z
        .array(z.string().min(1))
        .optional()
        .describe('files that git ignores but the tests need, e.g. .env.test; copied from the checkout'),
      coverage: z.number().min(0).max(100).optional().describe('percent of the lines of changed files'),
      coAuthor: z
        .string()
        .regex(/^[^<>\r\n]*[^<>\s] <[^<>@\s]+@[^<>@\s]+>$/, {
          error: 'is not a name and an address such as Claude <noreply@anthropic.com>',
        })
        .optional()
        .describe('a co-author of the commits, e.g. "Claude <noreply@anthropic.com>"'),
      maxAgentRounds: z.int().min(1).max(500).optional().describe('rounds of the built-in agent per call (default 60)'),
    })
    .optional()
    .describe('How an LLD becomes a branch.'),
  sandbox: z
    .strictObject({
      mode: z
        .enum(SANDBOX_MODES)
        .optional()
        .describe('auto: where the platform has one (default); on: never without; off: never'),
      hosts: hosts.optional().describe('hosts that the set-up may reach besides the usual package registries'),
      modelHosts: hosts.optional().describe('hosts that command: and acp: models may reach (default: none)'),
    })
    .optional()
    .describe('Agents, commands, set-up and tests run in a sandbox.'),
  passEnvironment: variableNames
    .optional()
    .describe('Environment variables that commands, agents and tests may see although they look like secrets.'),
  lineage: z
    .enum(['keep', 'commit'])
    .optional()
    .describe('commit: put the versions of a design on the branch too, beside its report (default keep)'),
  source: place
    .optional()
    .describe('Where issues come from: directory (issues/, the default), github[:owner/name] or gitlab[:group/name].'),
  forge: place
    .refine((text) => text !== 'directory', { error: 'is not a repository of a service' })
    .optional()
    .describe('Where branches and pull requests go (default: the repository of origin, else that of the issues).'),
  select: selection.optional().describe('Which issues --all takes from a service.'),
  comment: z.boolean().optional().describe('One comment on each issue, edited in place, and labels (default false).'),
  pr: z
    .strictObject({
      open: z.boolean().optional().describe('a pull request for each implementation (default false)'),
      ready: z
        .enum(READY)
        .optional()
        .describe('when it stops being a draft: green gates and required checks (default), at-once, never'),
      react: z
        .array(z.enum(REACT_KINDS))
        .optional()
        .describe('what agentos react and watch react to (default: failed checks, reviews, a moved base)'),
    })
    .optional()
    .describe('Pull requests.'),
  github: z
    .strictObject({
      apiUrl: apiUrl.optional().describe('of GitHub Enterprise, e.g. https://host/api/v3'),
      app: z
        .strictObject({
          id: z.union([z.int(), z.string().min(1)]),
          installation: z.union([z.int(), z.string().regex(/^\d+$/)]),
          keyFile: z.string().min(1).describe('the private key, as GitHub lets you download it'),
        })
        .optional()
        .describe('work as a GitHub App instead of with a token'),
    })
    .optional(),
  gitlab: z
    .strictObject({ apiUrl: apiUrl.optional().describe('of your own GitLab, e.g. https://host/api/v4') })
    .optional(),
});

export type ConfigFile = z.infer<typeof configFileSchema>;

export function configJsonSchema(): Record<string, unknown> {
  return { title: 'agentos.yaml', ...z.toJSONSchema(configFileSchema, { io: 'input' }) };
}
