/** What a path alone says of a file. */

const GENERATED =
  /(^|\/)(node_modules|vendor|third_party|3rdparty|dist|build|out|target|coverage|__snapshots__|\.yarn|__pycache__)\/|(^|\/)(package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|Cargo\.lock|Gemfile\.lock|poetry\.lock|uv\.lock|Pipfile\.lock|composer\.lock|go\.sum|flake\.lock|gradle\.lockfile)$|\.(lock|min\.js|min\.css|map|snap|pb\.go|pb\.cc|pb\.h|g\.dart|svg)$|_pb2\.py$|[._-]generated\.\w+$/i;
const TEST =
  /(^|\/)(tests?|specs?|__tests__|testing|e2e|testdata|fixtures?)\/|(^|\/)src\/(test|\w+Test)\/|(^|\/)test_[^/]+$|[._-](test|tests|spec)\.[\w.]+$|_(test|spec)\.\w+$|(Test|Tests|Spec|IT|TestCase)\.(java|kt|scala|cs|swift|php)$/;
const CHANGELOG = /(^|\/)(change(s|log)?|history|news|release[-_ ]?notes?|unreleased)[^/]*\.?(md|rst|txt|adoc)?$/i;

/** What this program reads and writes for its items: for their own words they would always be the best match. */
const OWN_DOCUMENT = /^(issues|briefs|docs\/(lld|lineage|reports))\//;

export function isOwnDocument(path: string): boolean {
  return OWN_DOCUMENT.test(path);
}

export function isGeneratedPath(path: string): boolean {
  return GENERATED.test(path);
}

export function isTestPath(path: string): boolean {
  return TEST.test(path);
}

/** New entries stand at its top. */
export function isChangelog(path: string): boolean {
  return CHANGELOG.test(path) && !/\.(ts|js|py|go|rs|java|rb|c|h|cpp|sh|html)$/.test(path);
}

/** What a file is about, by its name: the same for a module and its tests. */
export function subjectOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const stem = name.replace(/(?<=.)\..*$/, '');
  const plain = stem
    .replace(/^(test|spec)s?[_-]|[_-](tests?|specs?|unittest|bench)$/i, '')
    .replace(/(?<=[a-z0-9])(Tests?|Spec|IT|TestCase)$/, '')
    .toLowerCase();
  if (!['index', 'mod', 'lib', 'main', '__init__', 'init', 'package-info', ''].includes(plain)) return plain;
  const folder = path.slice(0, Math.max(0, path.lastIndexOf('/')));
  return folder.slice(folder.lastIndexOf('/') + 1).toLowerCase();
}
