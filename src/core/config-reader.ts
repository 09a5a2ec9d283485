import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument } from 'yaml';
import type { z } from 'zod';
import { type ConfigFile, configFileSchema } from './config-file.ts';
import { AgentosError } from './errors.ts';
import { firstLine } from './lines.ts';
import { nearest } from './nearest.ts';

type Path = readonly PropertyKey[];

/** The parser compares each key with all keys before it: a megabyte of them would take minutes. */
const LONGEST = 64 * 1024;
const TOO_LONG = `is longer than ${LONGEST / 1024} KB`;

/** Parses `agentos.yaml`. Errors name the line. */
export function parseConfigFile(text: string, file: string): ConfigFile {
  const lines = new LineCounter();
  if (text.length > LONGEST)
    throw new AgentosError({ code: 'config-invalid', file, line: null, path: '', reason: TOO_LONG });
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
    // An alias without its anchor, or one that expands too far.
    throw invalid(null, [], firstLine(error instanceof Error ? error.message : String(error)));
  }
  const result = configFileSchema.safeParse(content ?? {});
  if (result.success) return result.data;
  const { path, reason, ofKey } = describe(result.error);
  throw invalid(offsetOf(document, path, ofKey), path, reason);
}

/** A section in which everything is commented out counts as absent. */
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

/** Never repeats the value: it may be a key in place of a variable's name. */
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

/** The keys that the schema allows at a path. */
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
