import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { commitProject, implementer } from '../implement.ts';
import { type TestRepository, testRepository } from '../repository.ts';
import { type ScriptedModels, scriptedModels } from '../scripted-models.ts';

export interface HostedProject {
  repository: TestRepository;
  models: ScriptedModels;
  /** The git repository behind `origin`. */
  bare: string;
  /** Models of every role. */
  flags: string[];
  /** Git in the bare repository. */
  remote: (...args: string[]) => string;
}

/** A project whose tests really run, with a bare repository as its remote. */
export async function hostedProject(files: Record<string, string> = {}): Promise<HostedProject> {
  const repository = await testRepository({}, { commit: false });
  for (const [path, text] of Object.entries(files)) await repository.write(path, text);
  await commitProject(repository);
  const bare = join(repository.home, '..', 'remote.git');
  execFileSync('git', ['clone', '--quiet', '--bare', repository.root, bare]);
  repository.git('remote', 'add', 'origin', bare);
  const models = await scriptedModels(repository);
  return {
    repository,
    models,
    bare,
    flags: [...models.flags, '--implementer', implementer()],
    remote: (...args) => execFileSync('git', args, { cwd: bare, encoding: 'utf8' }).trim(),
  };
}
