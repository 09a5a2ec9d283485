import { z } from 'zod';

const texts = z.record(z.string(), z.unknown()).catch({});
const schema = z.object({ scripts: texts, dependencies: texts, devDependencies: texts, jest: z.unknown().optional() });

export interface PackageJson {
  scripts: Readonly<Record<string, string>>;
  /** Names of all that it depends on, for work or for use; Jest too where it is only configured. */
  dependencies: ReadonlySet<string>;
}

/** Null where there is none, or none that can be read. */
export function readPackageJson(text: string): PackageJson | null {
  try {
    const found = schema.parse(JSON.parse(text.replace(/^\uFEFF/, '')));
    const scripts: Record<string, string> = {};
    for (const [name, script] of Object.entries(found.scripts)) if (typeof script === 'string') scripts[name] = script;
    return {
      scripts,
      dependencies: new Set([
        ...Object.keys(found.dependencies),
        ...Object.keys(found.devDependencies),
        ...(found.jest === undefined ? [] : ['jest']),
      ]),
    };
  } catch {
    return null;
  }
}
