import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument } from 'yaml';
import { z } from 'zod';
import { SANDBOX_MODES } from './config.ts';
import { parseDuration } from './duration.ts';
import { AgentosError } from './errors.ts';
import { firstLine } from './lines.ts';
import { nearest } from './nearest.ts';
import { REMOTE_SETTINGS } from './remote-settings.ts';

/**
 * The one description of `agentos.yaml`: it is checked with it, its types come from it, and the JSON Schema for editors
 * is generated from it. Every object is strict: a misspelt key is an error, not a setting that silently does nothing.
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

export const configFileSchema = z.strictObject({
  models: z
    .strictObject({
      drafter: modelSpec.optional().describe('writes the LLD'),
      reviewer: modelSpec.optional().describe('reviews it; better not the same model'),
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
    .describe('Everything that could run forever has a limit.'),
  keys: z
    .strictObject({
      anthropic: variableNames.optional(),
      google: variableNames.optional(),
      openai: variableNames.optional(),
      'openai-compatible': variableNames.optional(),
    })
    .optional()
    .describe('Names of the environment variables that hold keys. Never the keys themselves.'),
  limits: z
    .strictObject({
      anthropic: rateLimits.optional(),
      google: rateLimits.optional(),
      openai: rateLimits.optional(),
      'openai-compatible': rateLimits.optional(),
    })
    .optional()
    .describe('Limits of each key or quota group, where you know them; otherwise they are learned from the answers.'),
  endpoints: z
    .strictObject({
      anthropic: endpoint.optional(),
      google: endpoint.optional(),
      openai: endpoint.optional(),
      'openai-compatible': endpoint.optional(),
    })
    .optional()
    .describe('Base URLs, when not the vendors’ own.'),
  prices: z.record(z.string(), price).optional().describe('Prices per model, over the built-in table.'),
  context: z
    .strictObject({
      maxTokens: z
        .int()
        .min(0)
        .max(500_000)
        .optional()
        .describe('what drafter, reviewer and implementer are shown of the repository (default 24000)'),
      exclude: z.array(z.string().min(1)).optional().describe('paths or folders that no model is ever shown'),
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
      'How far drafter and reviewer may look at the repository with tools before they answer; off: not at all.',
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
      files: z.array(z.string().min(1)).optional().describe('patterns of test files beside the usual names'),
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
      hosts: hosts.optional().describe('what the set-up may reach beside the usual package registries'),
      modelHosts: hosts.optional().describe('what command: and acp: models may reach (default: nothing)'),
    })
    .optional()
    .describe('Agents, commands, set-up and tests run in a sandbox.'),
  passEnvironment: variableNames
    .optional()
    .describe('Environment variables that commands, agents and tests may see although they look like secrets.'),
  lineage: z
    .enum(['keep', 'commit'])
    .optional()
    .describe('commit: the versions of a design are on the branch too, beside its report (default keep)'),
  ...REMOTE_SETTINGS,
});

export type ConfigFile = z.infer<typeof configFileSchema>;

export function configJsonSchema(): Record<string, unknown> {
  return { title: 'agentos.yaml', ...z.toJSONSchema(configFileSchema, { io: 'input' }) };
}

type Path = readonly PropertyKey[];

/** Parses `agentos.yaml`. The error names the line, because a path alone is hard to find in a long file. */
export function parseConfigFile(text: string, file: string): ConfigFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const invalid = (offset: number | null, path: Path, reason: string): AgentosError => {
    const line = offset === null ? null : lines.linePos(offset).line;
    return new AgentosError({ code: 'config-invalid', file, line, path: path.map(String).join('.'), reason });
  };
  const syntax = document.errors[0];
  if (syntax?.code === 'MULTIPLE_DOCS') throw invalid(syntax.pos[0], [], 'a second document (---) begins here');
  if (syntax) throw invalid(syntax.pos[0], [], firstLine(syntax.message));
  let content: unknown;
  try {
    content = withoutEmptySections(document.toJS());
  } catch (error) {
    // An alias without its anchor, or one that unfolds without end.
    throw invalid(null, [], firstLine(error instanceof Error ? error.message : String(error)));
  }
  const result = configFileSchema.safeParse(content ?? {});
  if (result.success) return result.data;
  const { path, reason, ofKey } = describe(result.error);
  throw invalid(offsetOf(document, path, ofKey), path, reason);
}

/** A section of which everything is commented out says nothing, like one that is not there. */
function withoutEmptySections(content: unknown): unknown {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return content;
  return Object.fromEntries(
    Object.entries(content).filter(([key, value]) => value !== null || !(key in configFileSchema.shape)),
  );
}

function describe(error: z.ZodError): { path: Path; reason: string; ofKey: boolean } {
  const issue = error.issues[0];
  if (!issue) return { path: [], reason: 'is not valid', ofKey: false };
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0] ?? '';
    const near = nearest(key, knownKeys(issue.path));
    const hint = near.length > 0 ? `; did you mean ${near.join(' or ')}?` : '';
    return { path: [...issue.path, key], reason: `is not a setting${hint}`, ofKey: true };
  }
  return { path: issue.path, reason: reasonOf(issue), ofKey: false };
}

const KINDS: Record<string, string> = {
  object: 'a group of settings',
  record: 'a group of settings',
  array: 'a list',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  null: 'nothing',
  undefined: 'nothing',
};

/** The value itself is never repeated: it may be a key in the place of a variable's name. */
function reasonOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type': {
      const received = /received (\w+)/.exec(issue.message)?.[1] ?? '';
      const wanted = KINDS[issue.expected] ?? issue.expected;
      const found = received === 'number' && issue.expected === 'int' ? 'a fraction' : (KINDS[received] ?? received);
      return `must be ${wanted}, not ${found}`;
    }
    case 'too_small':
      if (issue.origin === 'string') return 'must not be empty';
      return issue.inclusive ? `must be at least ${issue.minimum}` : `must be above ${issue.minimum}`;
    case 'too_big':
      return `must be at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

/** The keys that the schema allows at a path, for the suggestion. */
function knownKeys(path: Path): string[] {
  let schema: unknown = configFileSchema;
  for (const segment of path) {
    schema = shapeOf(schema)?.[String(segment)];
  }
  return Object.keys(shapeOf(schema) ?? {});
}

function shapeOf(schema: unknown): Record<string, unknown> | null {
  let current = schema as { shape?: Record<string, unknown>; unwrap?: () => unknown } | undefined;
  while (current && !current.shape && typeof current.unwrap === 'function')
    current = current.unwrap() as typeof current;
  return current?.shape ?? null;
}

function offsetOf(document: Document, path: Path, ofKey: boolean): number | null {
  let node = document.contents as Node | null;
  let offset = node?.range?.[0] ?? null;
  for (const [index, segment] of path.entries()) {
    if (isSeq(node)) {
      node = (node.items[Number(segment)] ?? null) as Node | null;
      offset = node?.range?.[0] ?? offset;
      continue;
    }
    if (!isMap(node)) break;
    const pair: Pair | undefined = node.items.find(
      (item) => isScalar(item.key) && String(item.key.value) === String(segment),
    );
    if (!pair) break;
    const last = index === path.length - 1;
    const target = (last && ofKey ? pair.key : (pair.value ?? pair.key)) as Node | null;
    offset = target?.range?.[0] ?? offset;
    node = pair.value as Node | null;
  }
  return offset;
}
