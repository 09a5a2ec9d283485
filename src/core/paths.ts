import { basename, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { sha256 } from './hash.ts';
import type { ItemId } from './ids.ts';

/** In the order in which an idea passes them. */
export const STAGES = ['issue', 'lld', 'implement'] as const;
export type StageName = (typeof STAGES)[number];

/** `eval` replays past items, `land` combines finished branches, `react` answers to what happens to a pull request. */
export const WORKFLOWS = [...STAGES, 'eval', 'land', 'react'] as const;
export type WorkflowName = (typeof WORKFLOWS)[number];

/** What a batch command runs: one workflow, or `run`, several one after another. */
export const PIPELINES = [...WORKFLOWS, 'run'] as const;
export type PipelineName = (typeof PIPELINES)[number];

/** For the prefix of a line: `[LLD-42]`. */
const LABELS: Record<WorkflowName, string> = {
  lld: 'LLD',
  issue: 'ISSUE',
  implement: 'IMPL',
  eval: 'EVAL',
  land: 'LAND',
  react: 'REACT',
};

export function labelOf(workflow: WorkflowName, id: ItemId): string {
  return `${LABELS[workflow]}-${id}`;
}

export function isInside(parent: string, path: string): boolean {
  const way = relative(parent, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

/** Relative to the repository if it is inside; otherwise unchanged. */
export function shownPath(repository: string, path: string): string {
  return isInside(repository, path) ? relative(repository, path) : path;
}

/**
 * The folder for state. By default it is inside the repository. A folder outside gets a subfolder per repository, so that two
 * repositories never share the state of items with the same id. The repository itself is never used: our `.gitignore` would hide the
 * user's files from git.
 */
export function baseDirectory(repository: string, chosen: string | null, cwd: string): string {
  const base = chosen === null || chosen === '' ? repository : resolve(cwd, chosen);
  if (relative(repository, base) === '') return join(repository, '.agentos');
  if (isInside(repository, base)) return base;
  return join(base, `${basename(repository).replace(/[^a-zA-Z0-9_.-]/g, '_')}-${sha256(repository).slice(0, 12)}`);
}

/**
 * Characters with a meaning in a URL, a pattern, a search path or a shell: Node can't import from a path with a backslash, Vite from
 * one with `?` or `#`, rustc's linker can't write to one with `%`, pytest no report to one with `$`.
 */
const SPECIAL = /[\\?#%*[\]{}$:;"`<>|\p{Cc}]/u;

/**
 * The folder for worktrees, and for the homes and caches of what runs in them: a base directory outside of the repository if every
 * tool works there, otherwise a folder of this user in /var/tmp, which outlives a restart. Inside the repository, the user's own tools
 * would collect the tests of worktrees, and packages would be found by climbing up; below a folder with a dot, web servers answer 404.
 */
export function workDirectory(repository: string, base: string, userId: number): string {
  const isUsable =
    !isInside(repository, base) && !SPECIAL.test(base) && !base.split(sep).some((name) => name.startsWith('.'));
  if (isUsable) return base;
  const name = basename(repository)
    .replace(/[^a-zA-Z0-9_.-]/g, '_')
    .replace(/^\.+/, '_');
  return join('/var/tmp', `agentos-${userId}`, `${name}-${sha256(base).slice(0, 12)}`);
}

/** Every path of ours. */
export type Paths = ReturnType<typeof pathsOf>;

/** The files of one run. */
export type RunPaths = ReturnType<Paths['run']>;

/** `work`: see `workDirectory`. */
export function pathsOf(repository: string, base: string, work = base) {
  const docs = join(repository, 'docs');
  return {
    repository,
    base,
    work,
    issues: join(repository, 'issues'),
    issue: (id: ItemId): string => join(repository, 'issues', `${id}.md`),
    briefs: join(repository, 'briefs'),
    prompts: join(repository, 'agentos', 'prompts'),
    llds: join(docs, 'lld'),
    lld: (id: ItemId): string => join(docs, 'lld', `LLD-${id}.md`),
    lineages: join(docs, 'lineage'),
    lineage: (id: ItemId): string => join(docs, 'lineage', id),
    /** No id has a dot, so it never collides with the lineage of an issue. */
    briefLineage: (id: ItemId): string => join(docs, 'lineage', `${id}.brief`),
    /** On the item's branch: relative to its worktree. */
    report: (id: ItemId): string => `docs/reports/${id}.md`,
    /** The approved LLD, beside its report. */
    reportedLld: (id: ItemId): string => `docs/reports/${id}.lld.md`,
    /** The versions of a design beside its report, if they are committed. */
    reportedLineage: (id: ItemId): string => `docs/reports/${id}.lineage`,
    worktrees: join(work, 'worktrees'),
    worktree: (workflow: WorkflowName, id: ItemId): string => join(work, 'worktrees', `${workflow}-${id}`),
    homes: join(work, 'homes'),
    /** The home directory of agents, set-up and tests in an item's worktree. */
    home: (workflow: WorkflowName, id: ItemId): string => join(work, 'homes', `${workflow}-${id}`),
    /** Caches of package managers and compilers, shared by the items. */
    caches: join(work, 'caches'),
    /** What planning needs to know about designs. */
    designs: join(base, 'caches', 'designs.jsonl'),
    /** The words of the repository's files. */
    contextIndex: join(base, 'caches', 'context-index'),
    /** What was undone in an item's worktree, as patches. */
    undone: (workflow: WorkflowName, id: ItemId): string => join(base, 'undone', `${workflow}-${id}`),
    checkpoints: join(base, 'checkpoints'),
    checkpoint: (workflow: WorkflowName, id: ItemId): string => join(base, 'checkpoints', `${workflow}-${id}.db`),
    locks: join(base, 'locks'),
    lock: (workflow: WorkflowName, id: ItemId): string => join(base, 'locks', `${workflow}-${id}.lock`),
    /** What was last known about the credential pool; no secrets. */
    keys: join(base, 'keys.json'),
    /** What a watch has started. */
    watch: join(base, 'watch.json'),
    watchLock: join(base, 'locks', 'watch.lock'),
    runs: join(base, 'runs'),
    run: (runId: string) => {
      const directory = join(base, 'runs', runId);
      return {
        directory,
        record: join(directory, 'run.json'),
        events: join(directory, 'events.jsonl'),
        summary: join(directory, 'summary.json'),
        /** Requests of people to a running run, one per line. */
        requests: join(directory, 'requests.jsonl'),
        log: (workflow: WorkflowName, id: ItemId): string => join(directory, 'logs', `${workflow}-${id}.log`),
        audit: (workflow: WorkflowName, id: ItemId): string => join(directory, 'audit', `${workflow}-${id}.jsonl`),
        /** A folder with a file for each call of an agent. */
        transcripts: (workflow: WorkflowName, id: ItemId): string =>
          join(directory, 'transcripts', `${workflow}-${id}`),
      };
    },
  };
}

/**
 * Variables that make package managers and compilers use these folders of `caches` instead of the user's home, unless the user has set
 * them.
 */
export const CACHE_FOLDERS: Readonly<Record<string, string>> = {
  npm_config_cache: 'npm',
  npm_config_store_dir: 'pnpm',
  YARN_CACHE_FOLDER: 'yarn',
  YARN_GLOBAL_FOLDER: 'yarn-global',
  BUN_INSTALL_CACHE_DIR: 'bun',
  COREPACK_HOME: 'corepack',
  PIP_CACHE_DIR: 'pip',
  UV_CACHE_DIR: 'uv',
  POETRY_CACHE_DIR: 'poetry',
  GOPATH: 'go',
  GOMODCACHE: 'go/pkg/mod',
  GOCACHE: 'go-build',
  CARGO_HOME: 'cargo',
  GRADLE_USER_HOME: 'gradle',
  NUGET_PACKAGES: 'nuget',
  COMPOSER_CACHE_DIR: 'composer',
};
