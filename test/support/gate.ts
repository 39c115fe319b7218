/** Pauses the handler at a point until it is released. */
export function gate(): { arrived: Promise<void>; pass: () => Promise<void>; open: () => void } {
  let arrive: () => void = () => undefined;
  let open: () => void = () => undefined;
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const opened = new Promise<void>((resolve) => (open = resolve));
  const pass = async (): Promise<void> => {
    arrive();
    await opened;
  };
  return { arrived, pass, open };
}
