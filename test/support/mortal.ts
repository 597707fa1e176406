/** The dependencies of a function that dies at its nth request, before or after it. */
export function mortal<D extends object>(deps: D, parts: readonly (keyof D)[], dies: number, behind: boolean) {
  let calls = 0;
  const wrapped = (target: object) =>
    new Proxy(target, {
      get:
        (of, name) =>
        async (...args: unknown[]) => {
          calls += 1;
          const call = () => (Reflect.get(of, name) as (...given: unknown[]) => Promise<unknown>)(...args);
          if (calls !== dies) return call();
          if (behind) await call();
          throw new Error('killed');
        },
    });
  const own = Object.fromEntries(parts.map((part) => [part, wrapped(deps[part] as object)]));
  return { ...deps, ...own, lived: () => calls < dies };
}
