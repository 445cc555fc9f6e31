"""What every computation stands on: dense algebra, tolerances, threads and compiled products."""
