import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** A file in the user's home in which a package manager keeps settings. */
interface SettingsFile {
  path: string;
  /** The lines that say where packages come from and how they are fetched. Others may be credentials, or name programs. */
  line: RegExp;
}

const PIP_LINE =
  /^\s*(?:\[[\w-]+\]|(?:index-url|extra-index-url|find-links|no-index|trusted-host|cert|(?:default-)?timeout|retries|prefer-binary)\s*=.*|[ \t]+[^\s=]+)\s*$/;

const FILES: readonly SettingsFile[] = [
  {
    path: '.npmrc',
    line: /^\s*(?:(?:@[^\s:=]+:)?registry|ca(?:\[\])?|cafile|strict-ssl|legacy-peer-deps|ignore-scripts|engine-strict|prefer-offline|offline|fetch-[a-z-]+)\s*=/,
  },
  { path: '.config/pip/pip.conf', line: PIP_LINE },
  { path: '.pip/pip.conf', line: PIP_LINE },
  {
    path: '.config/go/env',
    line: /^(?:GOPROXY|GOPRIVATE|GONOPROXY|GOSUMDB|GONOSUMDB|GOINSECURE|GOTOOLCHAIN|GOFLAGS)=/,
  },
];

const PASSWORD = /:\/\/[^/\s@]*@/;

/**
 * What of the user's settings for package managers every program of an item may know, by their paths in the home. Where
 * packages come from a mirror, an install finds none without them. A line with a password in its URL is left out.
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
