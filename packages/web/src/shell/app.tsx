import { useAnswer } from '../api/use-answer.ts';
import { Problem } from '../parts/problem.tsx';
import { Skeleton } from '../parts/skeleton.tsx';
import { Frame } from './frame.tsx';
import { ViewProvider } from './location.tsx';
import { PersonProvider } from './session.tsx';
import { Shell } from './shell.tsx';

/** All pages, for the person of the browser's session. Without a session, the first call leads to the login. */
export function App() {
  const session = useAnswer('GET /v1/session', {});
  const limits = useAnswer('GET /v1/limits', session.answer === null ? null : {});
  const failed = [session, limits].find(({ error }) => error !== null);
  return (
    <ViewProvider>
      {session.answer === null || limits.answer === null ? (
        <Frame navigation={failed === undefined ? <Skeleton lines={9} /> : null}>
          {failed === undefined ? (
            <Skeleton lines={6} />
          ) : (
            <>
              <h1>Gatehouse can’t open your session</h1>
              <Problem error={failed.error} onRetry={failed.reload} />
            </>
          )}
        </Frame>
      ) : (
        <PersonProvider person={{ ...session.answer, timezone: limits.answer.timezone }}>
          <Shell />
        </PersonProvider>
      )}
    </ViewProvider>
  );
}
