import { join, posix } from 'node:path';
import { basename } from 'node:path/posix';
import { type Fields, fieldsOf, parseJson } from '../core/json.ts';
import { listed } from '../core/lines.ts';
import { shownPath } from '../core/paths.ts';
import type { TreeChange } from '../git/worktree/trees.ts';
import { writeFileAtomic } from '../process/files.ts';
import type { DesignedContext, WorktreeContext } from './worktree-item.ts';

/** Changes of one step that were not allowed and were undone. */
export interface Undone {
  step: string;
  paths: string[];
  why: string;
}

/** What must not be changed in a step. `name` is part of the patch's name. */
export interface Rule {
  name: string;
  why: string;
  /** `why`, for the writer. */
  advice?: string;
  forbids: (change: TreeChange, linksOutside: ReadonlySet<string>) => boolean;
}

type UndoContext = Pick<WorktreeContext, 'id' | 'workflow' | 'paths' | 'worktree' | 'emit' | 'mask'>;

const DESIGNS: Rule = {
  name: '-designs',
  why: 'designs are no part of an implementation',
  // They may be untracked in the checkout: then a branch that changes them can't be merged there.
  forbids: ({ path }) => /^docs\/(?:lld\/LLD-|lineage\/)/.test(path),
};

const STATE: Rule = {
  name: '-state',
  why: 'the state folder is no part of an implementation',
  forbids: ({ path }) => /^\.agentos(?:\/|$)/i.test(path),
};

const LINKS: Rule = {
  name: '-links',
  why: 'a link that points out of the repository',
  forbids: ({ path }, linksOutside) => linksOutside.has(path),
};

/** Files of this program, which no implementation changes. */
export const OWN_FILES: readonly Rule[] = [DESIGNS, STATE];
/** What is forbidden in every step. */
export const ALWAYS: readonly Rule[] = [...OWN_FILES, LINKS];

/** Forbids changes to files that nothing asks for, neither by `isAsked` nor by their names in these texts. */
export function unaskedRule(
  { why, advice }: { why: string; advice: string },
  texts: readonly string[],
  isAsked: (change: TreeChange) => boolean,
): Rule {
  const forbids: Rule['forbids'] = (change) => !isAsked(change) && !texts.some((text) => namesFile(text, change.path));
  return { name: '-unasked', why, advice, forbids };
}

/**
 * Undoes what the rules forbid: those paths become what they are in `source`. A change counts for the first rule that
 * forbids it. Each rule's changes are kept as a whole patch, so that nothing is lost.
 */
export async function undoForbidden(
  context: UndoContext,
  { tree, source, step }: { tree: string; source: string; step: string },
  rules: readonly Rule[],
): Promise<{ tree: string; undone: Undone[]; notes: string[] }> {
  const { id, workflow, worktree, emit, mask } = context;
  const changes = await worktree.changes(source, tree);
  const links = await linksOutside(context, tree, changes);
  const byRule = Map.groupBy(changes, (change) => rules.find(({ forbids }) => forbids(change, links)) ?? null);
  let kept = tree;
  const undone: Undone[] = [];
  const notes: string[] = [];
  for (const rule of rules) {
    const paths = (byRule.get(rule) ?? []).map(({ path }) => path);
    if (paths.length === 0) continue;
    const name = `${step}${rule.name}`;
    const before = kept;
    kept = await worktree.withPathsFrom(before, source, paths);
    const patch = join(context.paths.undone(workflow, id), `${name}.patch`);
    // Secrets are ASCII: as latin1, bytes that are not UTF-8 survive the masking.
    const text = (await worktree.patch(kept, before)).toString('latin1');
    await writeFileAtomic(patch, Buffer.from(mask(text), 'latin1'));
    const { why, advice = why } = rule;
    emit({ type: 'changes-undone', step: name, paths, why, patch: shownPath(context.paths.repository, patch) });
    undone.push({ step: name, paths, why });
    notes.push(...paths.map((path) => `${path} was undone: ${advice}`));
  }
  return { tree: kept, undone, notes };
}

/** Symbolic links among the changes that point out of the repository: they are broken on another machine. */
async function linksOutside(
  { worktree }: UndoContext,
  tree: string,
  changes: readonly TreeChange[],
): Promise<ReadonlySet<string>> {
  const outside = new Set<string>();
  for (const { path } of changes.filter((change) => change.isLink)) {
    const target = ((await worktree.read(tree, path)) ?? '').trim();
    const end = posix.join(posix.dirname(path), target);
    if (posix.isAbsolute(target) || end === '..' || end.startsWith('../')) outside.add(path);
  }
  return outside;
}

/**
 * Files that run elsewhere with more rights than a test, or decide what runs: a person has to approve a change to them. Letter
 * case is ignored, as some file systems do.
 */
const PROTECTED: readonly RegExp[] = [
  // Run by GitHub, GitLab and other CI services.
  /^\.(?:github|gitea|forgejo)\/(?:workflows|actions)\//i,
  /^\.github\/(?:dependabot\.ya?ml|CODEOWNERS|copilot-instructions\.md)$|^CODEOWNERS$/i,
  /^(?:\.gitlab-ci\.yml|\.circleci\/.+|\.buildkite\/.+|azure-pipelines\.yml|bitbucket-pipelines\.yml|Jenkinsfile)$/i,
  /^(?:\.travis|appveyor|\.appveyor|\.drone|\.woodpecker|cloudbuild)\.ya?ml$/i,
  // Our own configuration.
  /^(?:agentos\.yaml|agentos\/prompts\/.+|\.gitmodules|\.lfsconfig)$/i,
  // Run by an install, a build, a shell, an editor or a commit on the machine of a person who checks it out.
  /(?:^|\/)(?:\.npmrc|\.yarnrc(?:\.yml)?|\.pnpmfile\.[cm]?js|pnpm-workspace\.yaml|package\.(?:json5|yaml)|binding\.gyp)$/i,
  /(?:^|\/)(?:setup\.py|\.envrc|\.?mise\.toml|gradlew(?:\.bat)?|mvnw(?:\.cmd)?|\.cargo\/config(?:\.toml)?)$/i,
  /(?:^|\/)(?:\.yarn\/(?:releases|plugins)|gradle\/wrapper|\.(?:mvn|husky|githooks|devcontainer|idea|zed))\//i,
  /^(?:\.pre-commit-config\.yaml|\.?lefthook\.ya?ml|\.vscode\/(?:tasks|launch|settings|mcp)\.json)$/i,
  // Instructions and settings of agents.
  /(?:^|\/)\.(?:claude|codex|gemini|opencode|cursor|windsurf|continue|clinerules|roo|kiro|junie)\//i,
  /(?:^|\/)(?:\.mcp|opencode)\.jsonc?$|^\.github\/(?:instructions|prompts|agents|chatmodes)\//i,
  /(?:^|\/)(?:AGENTS|CLAUDE|GEMINI)(?:\.local|\.override)?\.md$|^(?:\.(?:cursor|windsurf|cline)rules|\.aider\.conf\.yml)$/i,
];

/** Places of folders with such files: a link in the place of one would replace all of them. */
const FOLDERS = /(?:^|\/)(?:\..+|agentos(?:\/prompts)?|gradle(?:\/wrapper)?)$/i;

const MANIFEST = /(?:^|\/)(?:package|composer)\.json$/i;

/** Scripts that npm, Composer and the like run on an install. */
const INSTALL_SCRIPT =
  /^(?:(?:pre|post)?install|(?:pre|post)?prepare|prepublish|dependencies|(?:pre|post)-(?:install|update|autoload)-\w+)$/;

export function isProtected(path: string, isLink = false): boolean {
  return PROTECTED.some((form) => form.test(path)) || (isLink && FOLDERS.test(path));
}

/** Why a person has to approve a change; null: it changes no such file, or only those that the LLD names. */
export async function protectedChange(context: DesignedContext, tree: string): Promise<string | null> {
  const { worktree, baseTree, lld } = context;
  const isNamed = (path: string): boolean =>
    lld.files.some((file) => file.path === path || path.startsWith(`${file.path.replace(/\/$/, '')}/`));
  const found: string[] = [];
  for (const { path, isLink } of await worktree.changes(baseTree, tree)) {
    if (isProtected(path, isLink) && !isNamed(path)) found.push(path);
    if (!MANIFEST.test(path)) continue;
    const [before, after] = await Promise.all([baseTree, tree].map((at) => worktree.read(at, path)));
    const scripts = isLink ? null : scriptsIn(after);
    // Other programs may read more than JSON.
    if (isLink) found.push(`${path} (a link)`);
    else if (scripts === null && !isNamed(path)) found.push(`${path} (not JSON)`);
    const known = scriptsIn(before) ?? {};
    const names = Object.keys({ ...known, ...scripts }).filter((name) => INSTALL_SCRIPT.test(name));
    const isSame = (name: string): boolean => JSON.stringify(known[name]) === JSON.stringify(scripts?.[name]);
    const changed = names.filter((name) => !isSame(name) && !isScriptNamed(lld.text, name));
    found.push(...changed.map((name) => `${path} (script ${name})`));
  }
  return found.length === 0 ? null : `it changes what only a person may change, and the LLD does not: ${listed(found)}`;
}

/** In backticks or quotes: `install` alone may be a word of a sentence. */
function isScriptNamed(text: string, name: string): boolean {
  return text.includes(`\`${name}\``) || text.includes(`"${name}"`);
}

/** None where there is no file; null: it is not JSON. */
function scriptsIn(text: string | null | undefined): Fields | null {
  if (text === null || text === undefined) return {};
  // npm skips a byte-order mark.
  const manifest = parseJson(text.replace(/^\uFEFF/, ''));
  return manifest === null ? null : fieldsOf(fieldsOf(manifest)['scripts']);
}

/** Whether a text names a file: by its path, or by its name where that stands as a word of its own. */
export function namesFile(text: string, path: string): boolean {
  // A word such as `run` is the name of a file only where it is set off as code.
  const isWord = !/[./]/.test(path);
  for (let at = text.indexOf(path); at >= 0; at = text.indexOf(path, at + 1)) {
    const before = text.slice(0, at).replace(/(?<![\w./-])\.\/$/, '');
    const after = text.slice(at + path.length);
    const isWhole = !/[\w/.@-]$/.test(before) && !/^(?:[\w/-]|\.\w)/.test(after);
    if (isWhole && (!isWord || (before.endsWith('`') && after.startsWith('`')))) return true;
  }
  return false;
}

export interface NamedAmong {
  /** Files that are there: named by their whole paths. */
  paths: readonly string[];
  /** Those that were changed: named also by a name that only one of them has. */
  changed: readonly string[];
}

/**
 * The files that findings name, and so may be changed for them. A finding that names none leaves all changed files open:
 * what it asks for has to be somewhere in the change. A suggestion that names none opens nothing.
 */
export function filesNamed(
  { findings, suggestions }: { findings: readonly string[]; suggestions: readonly string[] },
  { paths, changed }: NamedAmong,
): string[] {
  const names = changed.map((path) => basename(path));
  const known = [...new Set([...changed, ...paths])];
  const namedIn = (text: string): string[] => [
    ...known.filter((path) => namesFile(text, path)),
    ...changed.filter((_, at) => {
      const name = names[at] ?? '';
      return names.indexOf(name) === names.lastIndexOf(name) && namesFile(text, name);
    }),
  ];
  const asked = findings.flatMap((text) => {
    const named = namedIn(text);
    return named.length === 0 ? changed : named;
  });
  const all = findings.length === 0 ? changed : asked;
  return [...new Set([...all, ...suggestions.flatMap(namedIn)])].sort();
}
