import type { ConfigFlags } from '../core/config.ts';
import { openProject, type Project } from '../workspace/project.ts';

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
