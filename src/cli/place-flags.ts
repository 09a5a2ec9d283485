import type { ConfigFlags } from '../core/config.ts';
import { flagWords } from '../core/shell-word.ts';
import { openProject, type Project } from '../run/project.ts';

/** Flags that say where: every command that looks at a repository has them. */
export interface PlaceFlags {
  repo?: string;
  baseDir?: string;
  config?: string;
}

export function projectOf(place: PlaceFlags, flags: ConfigFlags = {}): Promise<Project> {
  const { repo, baseDir, config } = place;
  return openProject({ cwd: process.cwd(), env: process.env, repo, baseDir, config, flags });
}

export function placeValues(place: PlaceFlags): Record<string, string | undefined> {
  return { '--repo': place.repo, '--base-dir': place.baseDir, '--config': place.config };
}

/** They have to be in every line to copy, to mean the same repository. */
export function placeFlagsOf(place: PlaceFlags): string[] {
  return flagWords(placeValues(place));
}
