/** Number of objects that a command reads at the same time. */
const AT_ONCE = 16;

/** Calls `work` for each item, a few at a time. The results are in the order of the list. */
export async function eachOf<T, R>(
  list: readonly T[],
  work: (item: T) => Promise<R>,
  atOnce: number = AT_ONCE,
): Promise<R[]> {
  const answers: R[] = [];
  const left = list.entries();
  const worker = async () => {
    for (const [index, item] of left) answers[index] = await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return answers;
}
