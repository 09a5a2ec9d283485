import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { approve } from '../implement.ts';
import { lldFor } from '../models.ts';
import { PROJECT } from '../program.ts';
import { type TestRepository, testRepository } from '../repository.ts';
import { type Files, type LanguageSample, works } from './sample.ts';

const IMPLEMENTER = join(PROJECT, 'test', 'support', 'implementers', 'from-plan.sh');

/** The sample as a repository with an approved LLD for 42. */
export async function languageRepository(
  { files, design, guard }: Pick<LanguageSample, 'files' | 'design' | 'guard'>,
  name?: string,
): Promise<TestRepository> {
  const repository = await testRepository({}, { commit: false, ...(name === undefined ? {} : { name }) });
  for (const folder of ['src', 'test', 'issues']) await rm(join(repository.root, folder), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    await repository.write(path, text);
    if (text.startsWith('#!')) await chmod(join(repository.root, path), 0o755);
  }
  repository.git('config', 'user.name', 'Test');
  repository.git('config', 'user.email', 'test@localhost');
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Start');
  await approve(repository, '42', lldOf(design, guard));
  return repository;
}

function lldOf(design: LanguageSample['design'], guard: string | undefined): string {
  const rows = design.map(([path, change]) => `| \`${path}\` | ${change} | Its part |`);
  return lldFor('42')
    .replace(/\| `src\/item-42\.js`[^\n]*\n\| `test\/item-42\.test\.js`[^\n]*/, rows.join('\n'))
    .replace(/`src\/item-42\.js` and `test\/item-42\.test\.js` are added/, 'All files are in place')
    .replace(new RegExp(`^(\\| ${guard} \\|[^|]*\\|) Auto `, 'm'), '$1 Guard ');
}

/** What is written in each call: of the first one, and of all further ones. */
interface WritingPlan {
  tests: readonly Files[];
  code: readonly Files[];
  /** Where the calls are noted. */
  state?: string;
  /** While this file is there, the code is never finished. */
  hold?: string;
}

/** `command:` of an implementer that writes so. */
export async function implementerWriting(repository: TestRepository, plan: WritingPlan): Promise<string> {
  const { state = '', hold = '' } = plan;
  return `${await commandWriting(join(repository.home, '..'), plan)} '${state}' '${hold}'`;
}

/** The same with its plan in this folder. */
export async function commandWriting(folder: string, plan: Pick<WritingPlan, 'tests' | 'code'>): Promise<string> {
  const place = await mkdtemp(join(folder, 'plan-'));
  for (const phase of ['tests', 'code'] as const) {
    for (const [index, files] of plan[phase].entries()) {
      for (const [path, text] of Object.entries(files)) {
        const file = join(place, `${phase}-${index + 1}`, path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, text);
      }
    }
  }
  return `command:sh '${IMPLEMENTER}' '${place}'`;
}

/** Where installed toolchains are, which a home of its own would hide. */
export function toolchainEnv(): Record<string, string> {
  const names = ['RUSTUP_HOME', 'PYENV_ROOT', 'PYENV_VERSION', 'GOROOT'];
  const given = names.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { RUSTUP_HOME: join(homedir(), '.rustup'), ...Object.fromEntries(given) };
}

/** The command that doesn't work here; null: all do. */
export function missingFor({ needs }: Pick<LanguageSample, 'needs'>): string | null {
  const missing = needs.find((command) => !works(command));
  return missing === undefined ? null : missing.join(' ');
}
