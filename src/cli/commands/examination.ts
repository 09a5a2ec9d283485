import { access, constants, readdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Role } from '../../core/config.ts';
import { type Problem, systemCode, toErrorRecord } from '../../core/errors.ts';
import { isItemId } from '../../core/ids.ts';
import { keyVariables, withoutSecrets } from '../../core/keys.ts';
import { specOf, vendorOf } from '../../core/model-spec.ts';
import { createGit } from '../../git/git.ts';
import { headCommit } from '../../git/repository.ts';
import { loadPrompts } from '../../prompts/overrides.ts';
import { openProject, type Project, type ProjectOptions } from '../../run/project.ts';

export interface Examined {
  name: string;
  state: 'ok' | 'warn' | 'bad';
  /** What was found: in words, or as the problem that it is. */
  found: string | Problem;
  todo: string | null;
}

/** Looks at everything a run needs, one after the other; what a later look needs and is missing ends the list. */
export async function examine(options: ProjectOptions): Promise<Examined[]> {
  const found: Examined[] = [nodeVersion()];
  const git = await gitVersion(options);
  found.push(git);
  if (git.state === 'bad') return found;
  let project: Project;
  try {
    project = await openProject(options);
  } catch (error) {
    return [...found, failure('repository', error)];
  }
  found.push(
    await repository(project),
    configuration(project),
    await state(project),
    await issues(project),
    await prompts(project),
  );
  return [...found, ...models(project)];
}

/** New enough: on an older one the program has ended before. */
function nodeVersion(): Examined {
  return { name: 'node', state: 'ok', found: process.version, todo: null };
}

async function gitVersion({ cwd, env }: ProjectOptions): Promise<Examined> {
  try {
    const git = createGit(cwd, withoutSecrets(env, [], []));
    return { name: 'git', state: 'ok', found: await git.text(['--version']), todo: null };
  } catch (error) {
    return failure('git', error);
  }
}

async function repository({ paths, childEnv }: Project): Promise<Examined> {
  try {
    const commit = await headCommit(createGit(paths.repository, childEnv));
    return { name: 'repository', state: 'ok', found: `${paths.repository} at ${commit.slice(0, 12)}`, todo: null };
  } catch (error) {
    return failure('repository', error);
  }
}

function configuration({ configFile }: Project): Examined {
  return configFile === null
    ? { name: 'configuration', state: 'ok', found: 'no agentos.yaml: the defaults', todo: null }
    : { name: 'configuration', state: 'ok', found: configFile, todo: null };
}

/** The nearest folder that exists is asked, so that looking makes nothing. */
async function state({ paths }: Project): Promise<Examined> {
  let folder = paths.base;
  for (let depth = 0; depth < 64; depth++) {
    try {
      if (!(await stat(folder)).isDirectory()) break;
      await access(folder, constants.W_OK);
      return { name: 'state folder', state: 'ok', found: paths.base, todo: null };
    } catch (error) {
      if (systemCode(error) !== 'ENOENT' || folder === dirname(folder)) break;
      folder = dirname(folder);
    }
  }
  return {
    name: 'state folder',
    state: 'bad',
    found: `${paths.base} can't be written`,
    todo: 'Choose another one with --base-dir or AGENTOS_HOME.',
  };
}

async function issues({ paths }: Project): Promise<Examined> {
  const names = await readdir(paths.issues).catch(() => []);
  const ids = names
    .filter((name) => name.endsWith('.md') && name.toLowerCase() !== 'readme.md')
    .map((name) => name.slice(0, -'.md'.length));
  const count = ids.filter(isItemId).length;
  const [odd] = ids.filter((id) => !isItemId(id));
  if (odd !== undefined) {
    return {
      name: 'issues',
      state: 'warn',
      found: `${count} file(s) in issues/, and ${ids.length - count} not taken, such as "${odd}.md"`,
      todo: 'The name of an issue is 1 to 64 letters, digits, hyphens and underscores.',
    };
  }
  return count > 0
    ? { name: 'issues', state: 'ok', found: `${count} file(s) in issues/`, todo: null }
    : {
        name: 'issues',
        state: 'warn',
        found: 'none in issues/',
        todo: 'Write one as issues/<id>.md: a title as first heading, then what is wanted.',
      };
}

async function prompts({ paths }: Project): Promise<Examined> {
  try {
    await loadPrompts(paths.prompts);
    return { name: 'prompts', state: 'ok', found: 'readable', todo: null };
  } catch (error) {
    return failure('prompts', error);
  }
}

function models({ config }: Project): Examined[] {
  return Object.entries(config.models).map(([role, text]) => {
    try {
      const vendor = vendorOf(specOf(role as Role, text));
      if (vendor === null) return { name: role, state: 'ok', found: text, todo: null };
      if (vendor === 'openai-compatible' && config.endpoints[vendor] === undefined) {
        const todo = 'Set endpoints.openai-compatible in agentos.yaml, e.g. http://127.0.0.1:11434/v1';
        return { name: role, state: 'bad', found: `${text}: no address of its server`, todo };
      }
      const keys = config.keys.filter((key) => key.vendor === vendor);
      if (keys.length > 0)
        return {
          name: role,
          state: 'ok',
          found: `${text}, ${keys.length} key(s): ${keys.map((key) => key.id).join(', ')}`,
          todo: null,
        };
      if (vendor === 'openai-compatible' && (config.keyVariables[vendor]?.length ?? 0) === 0)
        return { name: role, state: 'ok', found: `${text}, without a key`, todo: null };
      const variables = keyVariables(vendor, config.keyVariables[vendor]).join(' or ');
      return { name: role, state: 'bad', found: `${text}: no key`, todo: `Set ${variables}.` };
    } catch (error) {
      return failure(role, error);
    }
  });
}

function failure(name: string, error: unknown): Examined {
  return { name, state: 'bad', found: toErrorRecord(error).problem, todo: null };
}
