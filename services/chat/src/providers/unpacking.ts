import { interceptors, type Dispatcher } from 'undici';

/** Unpacks gzip, deflate, br and zstd. Unpacked answers are limited like those never packed. */
export const unpack = withoutWarning(() => interceptors.decompress({ skipErrorResponses: false }));

/** undici's handler of packed answers, which calls `handler` with the unpacked bytes and a controller of its own. */
export function unpackingFor(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  let unpacking = handler;
  const note = (_options: unknown, made: Dispatcher.DispatchHandler): boolean => {
    unpacking = made;
    return true;
  };
  unpack(note)({ method: 'POST', path: '/' }, handler);
  return unpacking;
}

/** undici warns on standard error about possible changes of the interceptor. */
function withoutWarning<Made>(make: () => Made): Made {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = ignore;
  try {
    return make();
  } finally {
    process.emitWarning = emitWarning;
  }
}

function ignore(): void {
  // The warning is not for operators.
}
