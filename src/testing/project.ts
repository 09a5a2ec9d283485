import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type PackageJson, readPackageJson } from './package-json.ts';

/** As much of a project as it takes to tell how its tests are run: a folder, or a commit that is not checked out. */
export interface ProjectFiles {
  /** Of what is in a folder, `''` being the top; none where it is not there. */
  names(folder: string): Promise<readonly string[]>;
  /** Empty where it is not there. */
  read(path: string): Promise<string>;
}

export function folderFiles(directory: string): ProjectFiles {
  return {
    names: (folder) => readdir(join(directory, folder)).catch(() => []),
    read: (path) => readFile(join(directory, path), 'utf8').catch(() => ''),
  };
}

/** What the runners look at for signs of them. */
export interface Project {
  packageJson: PackageJson | null;
  /** Names at the top. */
  top: readonly string[];
  /** Those, and the names in the usual folders of tests. */
  names: readonly string[];
  /** The texts of the few files in which other languages name their runners; empty where there is none. */
  texts: Readonly<Record<ManifestName, string>>;
}

const MANIFESTS = ['pyproject.toml', 'setup.cfg', 'tox.ini', 'Cargo.toml'] as const;
type ManifestName = (typeof MANIFESTS)[number];

export async function readProject(files: ProjectFiles): Promise<Project> {
  const folders = Promise.all(['', 'tests', 'test'].map((folder) => files.names(folder)));
  const texts = Promise.all(MANIFESTS.map((name) => files.read(name)));
  const [top = [], ...others] = await folders;
  const [pyproject = '', setup = '', tox = '', cargo = ''] = await texts;
  return {
    packageJson: readPackageJson(await files.read('package.json')),
    top,
    names: [top, ...others].flat(),
    texts: { 'pyproject.toml': pyproject, 'setup.cfg': setup, 'tox.ini': tox, 'Cargo.toml': cargo },
  };
}

export function hasFile({ top }: Project, pattern: RegExp): boolean {
  return top.some((name) => pattern.test(name));
}

/** Whether package.json depends on one of these packages. */
export function dependsOn({ packageJson }: Project, packages: readonly string[]): boolean {
  return packages.some((name) => packageJson?.dependencies.has(name));
}
