/** How a repository wants to be worked on: its own words for it, and its manifests. */

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

/** The files, and the part of the room for all of them that each may take. */
export function conventionFiles(paths: readonly string[]): { path: string; share: number }[] {
  const guides = GUIDES.flatMap(({ name, share }) => {
    const path = paths.find((candidate) => name.test(candidate));
    return path === undefined ? [] : [{ path, share }];
  });
  const manifests = paths.filter((path) => MANIFEST.test(path)).slice(0, MOST_MANIFESTS);
  return [...guides, ...manifests.map((path) => ({ path, share: MANIFEST_SHARE }))];
}
