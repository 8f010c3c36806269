// What people do with the dashboard, in a real browser on a real service with real traffic: in one process, so that all
// of it shares both (stage.ts). One file alone: npm test -- test/dashboard/journeys/session.ts
import './journeys/accessibility.ts';
import './journeys/customer.ts';
import './journeys/destination.ts';
import './journeys/dead-letters.ts';
import './journeys/session.ts';
import './journeys/many.ts';
import './journeys/ways-on.ts';
import './journeys/restart.ts';
