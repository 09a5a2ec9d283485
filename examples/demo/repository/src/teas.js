/** Leaves are in grams for one cup of 250 ml. */
export const teas = Object.freeze(
  [
    { name: 'Assam', celsius: 95, seconds: 240, leavesGrams: 2.5 },
    { name: 'Chai', celsius: 100, seconds: 300, leavesGrams: 3 },
    { name: 'Chamomile', celsius: 100, seconds: 360, leavesGrams: 2 },
    { name: 'Darjeeling', celsius: 90, seconds: 180, leavesGrams: 2.5 },
    { name: 'Earl Grey', celsius: 95, seconds: 240, leavesGrams: 2.5 },
    { name: 'Gunpowder', celsius: 80, seconds: 150, leavesGrams: 2.5 },
    { name: 'Gyokuro', celsius: 55, seconds: 105, leavesGrams: 4 },
    { name: 'Oolong', celsius: 90, seconds: 210, leavesGrams: 3 },
    { name: 'Peppermint', celsius: 100, seconds: 420, leavesGrams: 2 },
    { name: 'Rooibos', celsius: 100, seconds: 400, leavesGrams: 3 },
    { name: 'Sencha', celsius: 75, seconds: 90, leavesGrams: 3 },
    { name: 'White Peony', celsius: 80, seconds: 240, leavesGrams: 3.5 },
  ].map((tea) => Object.freeze(tea)),
);

/** Upper and lower case don't matter, nor do spaces around the name. */
export function findTea(name) {
  if (typeof name !== 'string') throw new TypeError('The name of a tea is a string');
  const wanted = name.trim().toLowerCase();
  const tea = teas.find((candidate) => candidate.name.toLowerCase() === wanted);
  if (!tea) throw new RangeError(`Unknown tea: ${name}`);
  return tea;
}
