import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A package manager's settings file in the user's home. */
interface SettingsFile {
  path: string;
  /** Matches lines about where packages come from and how they are fetched. Other lines may hold credentials or commands. */
  line: RegExp;
}

const PIP_LINE =
  /^\s*(?:\[[\w-]+\]|(?:index-url|extra-index-url|find-links|no-index|trusted-host|cert|(?:default-)?timeout|retries|prefer-binary)\s*=.*|[ \t]+[^\s=]+)\s*$/;

const NPM_LINE =
  /^\s*(?:(?:@[^\s:=]+:)?registry|ca(?:\[\])?|cafile|strict-ssl|legacy-peer-deps|ignore-scripts|engine-strict|prefer-offline|offline|fetch-[a-z-]+|manage-package-manager-versions|package-manager-strict(?:-version)?)\s*=/;

const FILES: readonly SettingsFile[] = [
  { path: '.npmrc', line: NPM_LINE },
  { path: '.config/pnpm/rc', line: NPM_LINE },
  { path: '.config/pip/pip.conf', line: PIP_LINE },
  { path: '.pip/pip.conf', line: PIP_LINE },
  {
    path: '.config/go/env',
    line: /^(?:GOPROXY|GOPRIVATE|GONOPROXY|GOSUMDB|GONOSUMDB|GOINSECURE|GOTOOLCHAIN|GOFLAGS)=/,
  },
];

const PASSWORD = /:\/\/[^/\s@]*@/;

/**
 * The package managers' settings that every program of an item may read, by path in the home. Without them, an install
 * that depends on a mirror fails. Lines with a password in a URL are dropped.
 */
export async function packageSettings(home: string): Promise<ReadonlyMap<string, string>> {
  const texts = await Promise.all(
    FILES.map(async ({ path, line }) => {
      const text = home === '' ? '' : await readFile(join(home, path), 'utf8').catch(() => '');
      const lines = text.split(/\r?\n/).filter((each) => line.test(each) && !PASSWORD.test(each));
      return [path, lines.map((each) => `${each}\n`).join('')] as const;
    }),
  );
  return new Map(texts.filter(([, text]) => text !== ''));
}
