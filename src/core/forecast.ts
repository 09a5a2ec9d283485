import { type Schedule, type Scheduled, scheduleOf } from './schedule.ts';

/** The names in a design, for comparing it with other designs. */
export interface DesignNames {
  /** Declarations that it is about: `src/parse.ts#parseDate`; `#parseDate` if it names no file. */
  declares: readonly string[];
  /** New files, and new declarations in the same form. */
  adds: readonly string[];
  /** Other paths and names that it mentions. */
  uses: readonly string[];
}

export type ForecastDesign = Scheduled & DesignNames;

/** A design is compared with at most this many others: those with the highest numbers. */
export const MOST_DESIGNS = 200;

/** How one design is connected with another one. */
export interface Forecast {
  with: string;
  /** It says that it depends on the other one. */
  dependsOn: boolean;
  /** Files, or folders, that both change. */
  files: string[];
  /** Declarations that both change. */
  declarations: string[];
  /** What it uses and the other one adds. */
  uses: string[];
  /** What it adds and the other one uses. */
  usedBy: string[];
}

/** For each design; one that shares a file with hundreds of others names only some of them. */
const MOST_OTHERS = 20;
/** Shorter names occur in every design. */
const SHORTEST_NAME = 4;

/** For each design the others that it is connected with. `shared`: from a schedule, if there is one. */
export function forecastOf(
  designs: readonly ForecastDesign[],
  { shared }: Pick<Schedule, 'shared'> = scheduleOf(designs),
): Map<string, Forecast[]> {
  const found = new Map<string, Map<string, Forecast>>(designs.map(({ id }) => [id, new Map<string, Forecast>()]));
  const between = (id: string, other: string): Forecast | null => {
    const own = found.get(id);
    if (own === undefined || id === other) return null;
    const known = own.get(other);
    if (known !== undefined || own.size >= MOST_OTHERS) return known ?? null;
    const entry: Forecast = { with: other, dependsOn: false, files: [], declarations: [], uses: [], usedBy: [] };
    own.set(other, entry);
    return entry;
  };
  for (const { id, after } of designs) {
    for (const other of after.filter((each) => found.has(each))) {
      const entry = between(id, other);
      if (entry) entry.dependsOn = true;
    }
  }
  const changing = idsBy(designs, ({ id }) => shared.get(id) ?? []);
  for (const { id } of designs) {
    for (const path of shared.get(id) ?? []) {
      for (const other of near(changing.get(path))) between(id, other)?.files.push(path);
    }
  }
  const declaring = idsBy(designs, ({ declares }) => declares.map(nameIn));
  const byId = new Map(designs.map((design) => [design.id, design]));
  for (const { id, declares } of designs) {
    for (const declaration of declares) {
      for (const other of near(declaring.get(nameIn(declaration)))) {
        // The same name in another file is another declaration. Without a file, it counts only in a file that both change.
        const entry = found.get(id)?.get(other);
        const same = entry === undefined ? null : sameDeclaration(declaration, byId.get(other), entry.files);
        if (entry && same !== null && !entry.declarations.includes(same)) entry.declarations.push(same);
      }
    }
  }
  const adding = idsBy(designs, ({ adds }) => adds.map(nameIn));
  for (const { id, uses, adds } of designs) {
    const own = new Set(adds.map(nameIn));
    for (const word of uses.filter((each) => each.length >= SHORTEST_NAME && !own.has(each))) {
      for (const other of near(adding.get(word))) {
        between(id, other)?.uses.push(word);
        between(other, id)?.usedBy.push(word);
      }
    }
  }
  return new Map([...found].map(([id, entries]) => [id, [...entries.values()]]));
}

/** The name of a declaration; a path stays unchanged. */
export function nameIn(entry: string): string {
  return entry.slice(entry.lastIndexOf('#') + 1);
}

function sameDeclaration(
  declaration: string,
  other: ForecastDesign | undefined,
  common: readonly string[],
): string | null {
  const name = nameIn(declaration);
  const fileOf = (entry: string): string => entry.slice(0, entry.lastIndexOf('#'));
  const own = fileOf(declaration);
  const theirs = (other?.declares ?? []).filter((entry) => nameIn(entry) === name).map(fileOf);
  const files = own === '' ? theirs : theirs.includes(own) || theirs.includes('') ? [own] : [];
  const file = files.find((each) => each === '' || common.some((path) => each === path || each.startsWith(`${path}/`)));
  return file === undefined ? null : file === '' ? name : `${name} in ${file}`;
}

function idsBy(
  designs: readonly ForecastDesign[],
  keysOf: (design: ForecastDesign) => readonly string[],
): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  for (const design of designs) {
    for (const key of new Set(keysOf(design))) {
      const users = ids.get(key);
      if (users) users.push(design.id);
      else ids.set(key, [design.id]);
    }
  }
  return ids;
}

/** Of a word that very many designs use, only the first ones count, so that the cost is not quadratic. */
function near(ids: readonly string[] | undefined): readonly string[] {
  return ids === undefined || ids.length > MOST_OTHERS * 5 ? (ids ?? []).slice(0, MOST_OTHERS + 1) : ids;
}

/** For people, before a run: what the groups of a plan don't show. */
export function forecastLines(
  designs: readonly Pick<ForecastDesign, 'id'>[],
  all: ReadonlyMap<string, readonly Forecast[]>,
): string[] {
  const place = new Map(designs.map(({ id }, at) => [id, at]));
  return designs.flatMap(({ id }, at) =>
    (all.get(id) ?? []).flatMap((entry) => {
      const other = entry.with;
      const isFirst = at < (place.get(other) ?? 0);
      const both =
        isFirst && entry.declarations.length > 0
          ? [`${id} and ${other} both change ${entry.declarations.join(', ')}.`]
          : [];
      if (entry.uses.length === 0) return both;
      const missing = entry.dependsOn
        ? ''
        : ` Its LLD does not say "Depends on: #${other}", so it is built without it.`;
      return [...both, `${id} uses what ${other} adds: ${entry.uses.join(', ')}.${missing}`];
    }),
  );
}

/** For the reviewer of a design or its code. */
export function describeForecast(entries: readonly Forecast[]): string {
  return entries
    .map((entry) => {
      const facts = [
        entry.dependsOn ? ['this one depends on it'] : [],
        entry.files.length === 0 ? [] : [`changes ${entry.files.join(', ')} too`],
        entry.declarations.length === 0 ? [] : [`both change ${entry.declarations.join(', ')}`],
        entry.uses.length === 0 ? [] : [`adds what this one uses: ${entry.uses.join(', ')}`],
        entry.usedBy.length === 0 ? [] : [`uses what this one adds: ${entry.usedBy.join(', ')}`],
      ].flat();
      return `- LLD-${entry.with}: ${facts.join('; ')}`;
    })
    .join('\n');
}
