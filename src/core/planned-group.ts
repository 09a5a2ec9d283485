export interface PlannedGroup {
  /** In the order in which they run. */
  ids: string[];
  /** The files that they share; none where they only build on each other. */
  files: string[];
}

/** For people: why some items wait for others. */
export function describeGroup({ ids, files }: PlannedGroup): string {
  const who = ids.length > 2 ? 'they' : 'both';
  const why = files.length > 0 ? `${who} change ${files.join(', ')}` : 'they build on each other';
  return `One after another: ${ids.join(' → ')} (${why})`;
}
