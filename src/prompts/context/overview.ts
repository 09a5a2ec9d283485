/* The conventions of a repository: guides and manifests. */

const GUIDES: readonly { name: RegExp; share: number }[] = [
  { name: /^AGENTS\.md$/i, share: 0.35 },
  { name: /^CLAUDE\.md$/i, share: 0.2 },
  { name: /^GEMINI\.md$/i, share: 0.2 },
  { name: /^(\.github\/|docs\/)?CONTRIBUTING(\.\w+)?$/i, share: 0.15 },
  { name: /^README(\.\w+)?$/i, share: 0.15 },
];
const MANIFEST =
  /^(package\.json|pyproject\.toml|setup\.(py|cfg)|Cargo\.toml|go\.mod|Gemfile|[\w-]+\.gemspec|pom\.xml|build\.gradle(\.kts)?|Makefile|CMakeLists\.txt|tox\.ini|justfile|composer\.json|mix\.exs|Package\.swift)$/;
const MANIFEST_SHARE = 0.15;
const MOST_MANIFESTS = 3;

/** The files, each with its share of the room for conventions. */
export function conventionFiles(paths: readonly string[]): { path: string; share: number }[] {
  const guides = GUIDES.flatMap(({ name, share }) => {
    const path = paths.find((candidate) => name.test(candidate));
    return path === undefined ? [] : [{ path, share }];
  });
  const manifests = paths.filter((path) => MANIFEST.test(path)).slice(0, MOST_MANIFESTS);
  return [...guides, ...manifests.map((path) => ({ path, share: MANIFEST_SHARE }))];
}

/* The map: relevant folders with their files. */

interface Folder {
  name: string;
  score: number;
  files: { name: string; score: number }[];
  folders: Map<string, Folder>;
  count: number;
}

const MOST_NAMES = 30;

/** A line for each relevant folder, in the order of paths; files of other folders are only counted. */
export function mapOf(paths: readonly string[], scoreOf: (path: string) => number, budget: number): string {
  const root = treeOf(paths, scoreOf);
  const waiting: { path: string; folder: Folder }[] = [{ path: '', folder: root }];
  const lines: { path: string; line: string }[] = [];
  let used = 0;
  while (waiting.length > 0) {
    waiting.sort((a, b) => b.folder.score - a.folder.score || (a.path < b.path ? -1 : 1));
    const { path, folder } = waiting.shift() as { path: string; folder: Folder };
    const line = lineOf(path, folder);
    if (used + line.length + 1 > budget) continue;
    used += line.length + 1;
    lines.push({ path, line });
    for (const [name, inner] of folder.folders) waiting.push({ path: `${path}${name}/`, folder: inner });
  }
  return lines
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ line }) => line)
    .join('\n');
}

function treeOf(paths: readonly string[], scoreOf: (path: string) => number): Folder {
  const folder = (name: string): Folder => ({ name, score: 0, files: [], folders: new Map(), count: 0 });
  const root = folder('');
  for (const path of paths) {
    const score = scoreOf(path);
    const segments = path.split('/');
    const file = segments.pop() ?? '';
    let at = root;
    for (const segment of segments) {
      at.count += 1;
      at.score += score;
      const next = at.folders.get(segment) ?? folder(segment);
      at.folders.set(segment, next);
      at = next;
    }
    at.count += 1;
    at.score += score;
    at.files.push({ name: file, score });
  }
  return root;
}

function lineOf(path: string, { files, folders }: Folder): string {
  const inner = [...folders.values()].map(({ name, count }) => `${name}/ (${count})`);
  const shown = files
    .toSorted((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    .slice(0, MOST_NAMES)
    .map(({ name }) => name)
    .sort();
  const more = files.length - shown.length;
  return `${path === '' ? '.' : path}: ${[...inner.slice(0, MOST_NAMES), ...shown, ...(more > 0 ? [`… ${more} more`] : [])].join(', ')}`;
}
