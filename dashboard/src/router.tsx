// Every page's address. All state of a page that is worth a link is in its address: filters, cursors, ranges.
import { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
  type ErrorComponentProps,
} from '@tanstack/react-router';
import { ApiError, onSignedOut, type Mode } from './api/client.ts';
import { sessionsQuery } from './api/session.ts';
import { NotFound } from './components/not-found.tsx';
import { Loading } from './components/page.tsx';
import { Shell } from './components/shell.tsx';
import { Fault } from './components/show.tsx';
import { SignInPage } from './pages/sign-in.tsx';

export type Search = { [name: string]: string | undefined };

const RETRIES = 3;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 2_000,
      // No answer, or "later": the page waits for the service to come back. What it refuses, it would refuse again.
      retry: (failures, error) =>
        error instanceof ApiError && (error.status === 0 || error.status >= 500)
          ? error.status === 0 || failures < RETRIES
          : false,
      retryDelay: (failures) => Math.min(500 * 2 ** failures, 5_000),
      networkMode: 'always',
    },
    mutations: { networkMode: 'always' },
  },
});

const root = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Outlet,
  validateSearch: (search: Record<string, unknown>): Search => search as Search,
  notFoundComponent: NotFound,
});

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: async ({ context }) => {
    const [first] = await context.queryClient.ensureQueryData(sessionsQuery);
    if (first === undefined) throw redirect({ to: '/sign-in' });
    throw redirect({ to: '/$mode', params: { mode: first.mode } });
  },
});

const signIn = createRoute({ getParentRoute: () => root, path: '/sign-in', component: SignInPage });

const environment = createRoute({
  getParentRoute: () => root,
  path: '/$mode',
  params: {
    parse: ({ mode }): { mode: Mode } => {
      if (mode !== 'test' && mode !== 'live') throw new Error('there are test and live');
      return { mode };
    },
    stringify: ({ mode }) => ({ mode }),
  },
  beforeLoad: async ({ context }) => void (await context.queryClient.ensureQueryData(sessionsQuery)),
  component: Shell,
});

const under = () => environment;
const overview = createRoute({
  getParentRoute: under,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/overview.tsx'), 'Overview'),
});
const deliveries = createRoute({
  getParentRoute: under,
  path: '/deliveries',
  component: lazyRouteComponent(() => import('./pages/deliveries.tsx'), 'Deliveries'),
});
const delivery = createRoute({
  getParentRoute: under,
  path: '/deliveries/$id',
  component: lazyRouteComponent(() => import('./pages/delivery.tsx'), 'DeliveryPage'),
});
const events = createRoute({
  getParentRoute: under,
  path: '/events',
  component: lazyRouteComponent(() => import('./pages/events.tsx'), 'Events'),
});
const event = createRoute({
  getParentRoute: under,
  path: '/events/$id',
  component: lazyRouteComponent(() => import('./pages/event.tsx'), 'EventPage'),
});
const send = createRoute({
  getParentRoute: under,
  path: '/send',
  component: lazyRouteComponent(() => import('./pages/send.tsx'), 'Send'),
});
const destinations = createRoute({
  getParentRoute: under,
  path: '/destinations',
  component: lazyRouteComponent(() => import('./pages/destinations.tsx'), 'Destinations'),
});
const destination = createRoute({
  getParentRoute: under,
  path: '/destinations/$id',
  component: lazyRouteComponent(() => import('./pages/destination.tsx'), 'DestinationPage'),
});
const dlq = createRoute({
  getParentRoute: under,
  path: '/dlq',
  component: lazyRouteComponent(() => import('./pages/dlq.tsx'), 'Dlq'),
});
const operations = createRoute({
  getParentRoute: under,
  path: '/operations',
  component: lazyRouteComponent(() => import('./pages/operations.tsx'), 'Operations'),
});
const keys = createRoute({
  getParentRoute: under,
  path: '/keys',
  component: lazyRouteComponent(() => import('./pages/keys.tsx'), 'Keys'),
});
const cluster = createRoute({
  getParentRoute: under,
  path: '/cluster',
  component: lazyRouteComponent(() => import('./pages/cluster.tsx'), 'Cluster'),
});

// prettier-ignore
const pages = [
  overview, deliveries, delivery, events, event, send, destinations, destination, dlq, operations, keys, cluster,
] as const;

/** So that any page opens while the service is away, or is another version by then: its script is here already. */
export async function preloadPages(): Promise<void> {
  const loading = pages.map(({ options }) => options.component?.preload?.());
  await Promise.allSettled([...loading, import('./components/palette.tsx'), import('uplot')]);
}

export const router = createRouter({
  routeTree: root.addChildren([home, signIn, environment.addChildren(pages)]),
  context: { queryClient },
  defaultErrorComponent: RouteFault,
  defaultPendingComponent: Loading,
  scrollRestoration: true,
  defaultPreload: false,
  // Plain text: `?status=dead`, as a person would write it.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => typeof value === 'string' && value !== '');
    const text = new URLSearchParams(given as [string, string][]).toString();
    return text === '' ? '' : `?${text}`;
  },
});

/** Not by its `reset`: what is drawn again would be the route with the same error. */
function RouteFault({ error }: ErrorComponentProps) {
  return <Fault error={error} retry={() => void router.invalidate()} />;
}

// A cookie that ended, or a key that was revoked: whatever page this is, the way on is to sign in.
onSignedOut(() => void queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey }));

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
