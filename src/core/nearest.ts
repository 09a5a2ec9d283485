/** How many letters to add, remove, replace or swap with their neighbour. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const [before, above = []] = [rows[i - 2], rows[i - 1]];
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (above[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap && before ? (before[j - 2] ?? 0) + 1 : replaced;
      row.push(Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped));
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? 0;
}

/**
 * The known words that `word` was probably meant to be, best first, at most three. A word of one letter has none, because every other
 * letter is as near.
 */
export function nearest(word: string, known: Iterable<string>): string[] {
  const limit = word.length < 2 ? 0 : Math.max(1, Math.floor(word.length / 3));
  return (
    [...known]
      // The distance is at least the difference in length.
      .filter((candidate) => word.length < 2 * candidate.length)
      .map((candidate) => ({ candidate, score: distance(word.toLowerCase(), candidate.toLowerCase()) }))
      .filter(({ score, candidate }) => score <= limit && candidate.length > score)
      .sort((a, b) => a.score - b.score || a.candidate.localeCompare(b.candidate))
      .slice(0, 3)
      .map(({ candidate }) => candidate)
  );
}
