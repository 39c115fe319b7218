import { useAnswer } from '../api/use-answer.ts';
import { Problem } from '../parts/problem.tsx';
import { ViewProvider } from './location.tsx';
import { PersonProvider } from './session.tsx';
import { Shell } from './shell.tsx';

/** All pages, for the person of the browser's session. Without a session, the first call leads to the login. */
export function App() {
  const session = useAnswer('GET /v1/session', {});
  const limits = useAnswer('GET /v1/limits', session.answer === null ? null : {});
  const error = session.error ?? limits.error;
  if (error !== null)
    return (
      <main>
        <h1>Gatehouse</h1>
        <Problem error={error} />
      </main>
    );
  if (session.answer === null || limits.answer === null) return null;
  return (
    <PersonProvider person={{ ...session.answer, timezone: limits.answer.timezone }}>
      <ViewProvider>
        <Shell />
      </ViewProvider>
    </PersonProvider>
  );
}
