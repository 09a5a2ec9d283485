import { isMap, isScalar, LineCounter, type Node, type Pair, parseDocument } from 'yaml';
import type { z } from 'zod';
import { type ConfigFile, configFileSchema } from './config-schema.ts';
import { AgentosError } from './errors.ts';
import { nearest } from './nearest.ts';

type Path = readonly PropertyKey[];

/** Parses `agentos.yaml`. The error names the line, because a path alone is hard to find in a long file. */
export function parseConfigFile(text: string, file: string): ConfigFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const syntax = document.errors[0];
  if (syntax) {
    const reason = syntax.message.split('\n')[0] ?? syntax.message;
    throw new AgentosError({ code: 'config-invalid', file, line: lines.linePos(syntax.pos[0]).line, path: '', reason });
  }
  const result = configFileSchema.safeParse(document.toJS() ?? {});
  if (result.success) return result.data;
  const { path, reason, ofKey } = describe(result.error);
  const offset = offsetOf(document.contents, path, ofKey);
  const line = offset === null ? null : lines.linePos(offset).line;
  throw new AgentosError({ code: 'config-invalid', file, line, path: path.map(String).join('.'), reason });
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
  return { path: issue.path, reason: issue.message.replace(/^Invalid input: /, ''), ofKey: false };
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

function offsetOf(root: unknown, path: Path, ofKey: boolean): number | null {
  let node = root as Node | null;
  let offset = node?.range?.[0] ?? null;
  for (const [index, segment] of path.entries()) {
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
